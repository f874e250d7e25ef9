"""One module a family; every module in this folder is loaded by `corpus.case.all_cases`."""
