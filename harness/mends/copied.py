"""The text of a copy of a program, which mends of two files add."""

COPIED_PROGRAM = '''
    def _with_its_own_graph(program):
        """The same program, with its weights, so that changing this graph leaves the caller's."""
        import copy

        graph_module = copy.deepcopy(program.graph_module)
        for mine, theirs in zip(graph_module.graph.nodes, program.graph.nodes):
            mine.name = theirs.name  # the copy of a node that is called as a builtin is not
        return torch.export.ExportedProgram(
            root=graph_module,
            graph=graph_module.graph,
            graph_signature=program.graph_signature,
            state_dict=program.state_dict,
            range_constraints=program.range_constraints,
            module_call_graph=program.module_call_graph,
            example_inputs=program.example_inputs,
            constants=program.constants,
            verifiers=program.verifiers,
        )
    '''
