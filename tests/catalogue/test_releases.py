"""The catalogue: read strictly, queried by version and specifier, grouped by inliner."""

import hashlib

import pytest

from harness.base.errors import SurroundingsError, UsageError
from harness.catalogue.releases import (
    CATALOGUE_FILE,
    EXPORTER_MODULE,
    Catalogue,
    inliner_id,
    load_catalogue,
)
from tests.fake_releases import make_release
from tests.fetched import FETCHED, LEFT_OUT

CATALOGUE = load_catalogue()


def test_the_tests_fetch_one_release_of_each_inliner():
    fetched = [{release.version for release in group} & {*FETCHED} for group in CATALOGUE.groups()]
    assert [len(versions) for versions in fetched] == [0, *[1] * 7]
    assert CATALOGUE.groups()[0][0].version == LEFT_OUT


def test_an_unknown_release_is_refused_with_the_known_ones_and_the_closest():
    with pytest.raises(UsageError, match=r"'2\.13'; did you mean 2\.13\.0\? known: 2\.3\.0, 2"):
        CATALOGUE.get("2.13")
    with pytest.raises(UsageError, match=r"'newest'; known: 2\.3\.0"):
        CATALOGUE.get("newest")


def test_an_unknown_release_is_refused_with_the_two_ways_to_judge_a_new_one():
    new = r"2\.14\.0; for a new one: .* add-release VERSION, or --wheel FILE"
    with pytest.raises(UsageError, match=new):
        CATALOGUE.get("2.15.0")


@pytest.mark.parametrize(
    ("expression", "versions"),
    [
        ("2.13.0", ["2.13.0"]),
        ("2.14.0, 2.10.0,2.14.0", ["2.10.0", "2.14.0"]),
        (">=2.10,<2.12", ["2.10.0", "2.11.0"]),
        (" >2.12.0,!=2.13.0", ["2.12.1", "2.14.0"]),
        ("~=2.13.0", ["2.13.0"]),
    ],
)
def test_select_takes_versions_or_one_specifier_and_answers_oldest_first(expression, versions):
    assert [release.version for release in CATALOGUE.select(expression)] == versions


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        (">=3", "matches no release"),
        (">=2.9,2.14.0", "neither a list of versions nor one specifier"),
        ("=>2", "neither a list of versions nor one specifier"),
        ("2.13.0,", "an empty name"),
        ("", "an empty name"),
        ("2.13.0,2.99.0", "unknown release '2.99.0'"),
    ],
)
def test_select_refuses_what_does_not_parse_or_matches_nothing(expression, complaint):
    with pytest.raises(UsageError, match=complaint):
        CATALOGUE.select(expression)


def test_a_prerelease_matches_a_specifier_like_any_release(tmp_path):
    catalogue = Catalogue((make_release(tmp_path, "9.1.0rc1"),))
    assert len(catalogue.select(">=9.0")) == 1


def test_releases_with_one_inliner_are_one_group(tmp_path):
    old, same = make_release(tmp_path, "9.1.0"), make_release(tmp_path, "9.2.0")
    new = make_release(tmp_path, "9.3.0", exporter=b"other")
    assert Catalogue((old, same, new)).groups() == ((old, same), (new,))


class TestInlinerId:
    def test_it_is_the_documented_hash(self, tmp_path):
        release = make_release(tmp_path, exporter=b"xy", others={"a.py": b""})
        documented = b"a.py\x000\x00" + EXPORTER_MODULE.encode() + b"\x002\x00xy"
        assert release.inliner_id == hashlib.sha256(documented).hexdigest()

    def test_a_replaced_module_counts_instead_of_the_one_in_the_wheel(self, tmp_path):
        release = make_release(tmp_path, others={"a.py": b"1"})
        path = tmp_path / release.wheel
        changed = make_release(tmp_path / "changed", exporter=b"new", others={"a.py": b"1"})
        replaced = inliner_id(path, release.modules, {EXPORTER_MODULE: b"new"})
        assert replaced == changed.inliner_id

    def test_a_module_that_the_wheel_lacks_is_named(self, tmp_path):
        release = make_release(tmp_path)
        with pytest.raises(SurroundingsError, match=r"absent\.py"):
            inliner_id(tmp_path / release.wheel, ["absent.py"])

    @pytest.mark.parametrize("content", [None, b"not a zip"])
    def test_a_file_that_is_no_wheel_is_named(self, tmp_path, content):
        path = tmp_path / "broken.whl"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(SurroundingsError, match=r"broken\.whl: cannot be read as a wheel"):
            inliner_id(path, ["a.py"])


class TestReader:
    """Each fault is planted in a copy of three tables of the committed catalogue."""

    @staticmethod
    def three_releases() -> str:
        text = CATALOGUE_FILE.read_text(encoding="utf-8")
        tables = (text[text.index(f'[release."{v}"]') :] for v in ("2.10.0", "2.13.0", "2.14.0"))
        ends = ('[release."2.11.0"]', '[release."2.14.0"]', "no table follows")
        kept = (table.partition(end)[0] for table, end in zip(tables, ends, strict=True))
        return "schema = 1\n\n" + "".join(kept)

    @pytest.mark.parametrize(
        ("line", "fault", "complaint"),
        [
            ('abi = "9"', "", "2.13.0.*'abi' is missing"),
            ('abi = "9"', "abi = 9", "2.13.0.*'abi' is not a str"),
            ('abi = "9"', 'abi = "nine"', "2.13.0.*'abi': 'nine' is not valid"),
            ('abi = "9"', 'abi = "9"\nabbi = "9"', "2.13.0.*unknown key 'abbi'"),
            ('abi = "9"', 'abi = "9"\nabi = "9"', "cannot be read"),
            ('tensorrt = "11.0.0"', 'rtx = "1"', "2.13.0, pins: key 'tensorrt' is missing"),
            ('tensorrt = "11.0.0"', 'tensorrt = ""', "2.13.0, pins.*'tensorrt': '' is not"),
            ("tensorrt_rtx =", "rtx =", "2.10.0, pins: key 'tensorrt_rtx' is missing"),
            ("save_retraces = true", 'save_retraces = "yes"', "'save_retraces' is not a bool"),
            ('sha256 = "91', 'sha256 = "XY', "2.13.0.*'sha256'"),
            ('inliner_id = "5e', 'inliner_id = "', "2.13.0.*'inliner_id'"),
            ("torch_tensorrt-2.13.0", "torch_tensorrt-2.12.0", "2.13.0.*'wheel'"),
            ("torch_tensorrt-2.13.0-cp311-", "torch_tensorrt-2.13.0-", "2.13.0.*'wheel'"),
            ('"2.13.0".api]', '"2.13.0".apo]', "2.13.0.*'api' is missing"),
            ("schema = 1", "schema = 2", "schema 2, but this harness reads 1"),
            ("schema = 1", "schema = 1\nextra = 1", "top level: unknown key 'extra'"),
        ],
    )
    def test_a_fault_is_named_with_file_table_and_key(self, tmp_path, line, fault, complaint):
        assert line in self.three_releases()
        path = tmp_path / "releases.toml"
        path.write_text(self.three_releases().replace(line, fault), encoding="utf-8")
        with pytest.raises(SurroundingsError, match=r"releases\.toml.*" + complaint):
            load_catalogue(path)

    @pytest.mark.parametrize(
        ("table", "fault", "complaint"),
        [
            ("reachable", '["legacy", "direct"]', "must share out legacy and export"),
            ("reachable", '["legacy"]', "must share out legacy and export"),
            ("reachable", '["legacy", "legacy"]', "'reachable' is not a list of different"),
            ("modules", '["a.py"]', "lacks torch_tensorrt/dynamo/_exporter.py"),
            ("modules", '"a.py"', "'modules' is not a list"),
        ],
    )
    def test_a_list_that_makes_no_sense_is_refused(self, tmp_path, table, fault, complaint):
        head, mark, tail = self.three_releases().partition('"2.14.0"]')
        lines = [
            f"{table} = {fault}" if line.startswith(f"{table} =") else line
            for line in tail.splitlines()
        ]
        path = tmp_path / "releases.toml"
        path.write_text(head + mark + "\n".join(lines), encoding="utf-8")
        with pytest.raises(SurroundingsError, match=r"2\.14\.0.*" + complaint):
            load_catalogue(path)

    def test_a_catalogue_without_releases_is_refused(self, tmp_path):
        path = tmp_path / "releases.toml"
        path.write_text("schema = 1\n[release]\n", encoding="utf-8")
        with pytest.raises(SurroundingsError, match="no release at all"):
            load_catalogue(path)

    def test_a_release_that_is_no_table_is_refused(self, tmp_path):
        path = tmp_path / "releases.toml"
        path.write_text('schema = 1\n[release]\n"2.14.0" = 1\n', encoding="utf-8")
        with pytest.raises(SurroundingsError, match=r"'2\.14\.0' is not a dict"):
            load_catalogue(path)

    def test_an_absent_catalogue_is_named(self, tmp_path):
        with pytest.raises(SurroundingsError, match=r"nothing\.toml: cannot be read"):
            load_catalogue(tmp_path / "nothing.toml")

    def test_releases_are_ordered_by_version_and_not_by_text(self, tmp_path):
        text = self.three_releases().replace("2.14.0", "2.9.0")
        path = tmp_path / "releases.toml"
        path.write_text(text, encoding="utf-8")
        assert load_catalogue(path).versions == ("2.9.0", "2.10.0", "2.13.0")
