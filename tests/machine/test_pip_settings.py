"""The registry that pip is told of, uv is told of too."""

from harness.machine.pip_settings import left_out, uv_variables

LISTED = r"""WARNING: something that pip has to say
:env:.disable-pip-version-check='1'
:env:.index-url='https://env.example/simple'
global.cert='/etc/ca.crt'
global.extra-index-url='https://one.example/simple\nhttps://two.example/simple'
global.index-url='https://global.example/simple'
install.index-url='https://install.example/simple'
install.trusted-host='one.example\ntwo.example'
download.find-links='/wheels'
"""


def test_each_setting_has_its_variable_and_the_nearest_section_decides():
    assert uv_variables(LISTED, {}) == {
        "UV_DEFAULT_INDEX": "https://env.example/simple",
        "UV_INSECURE_HOST": "one.example two.example",
        "SSL_CERT_FILE": "/etc/ca.crt",
    }
    elsewhere = LISTED.replace(":env:.index", ":env:.other")
    assert uv_variables(elsewhere, {})["UV_DEFAULT_INDEX"] == "https://install.example/simple"


def test_what_is_set_already_stays_as_it_is():
    mine = {"UV_DEFAULT_INDEX": "https://mine.example/simple", "SSL_CERT_FILE": "/mine.crt"}
    assert list(uv_variables(LISTED, mine)) == ["UV_INSECURE_HOST"]


def test_what_uv_is_not_told_is_named_if_it_matters_to_an_install():
    assert left_out(LISTED) == ("extra-index-url",)


def test_without_a_configuration_there_is_nothing_to_tell():
    for listed in ("", "global.timeout='60'\n"):
        assert (uv_variables(listed, {}), left_out(listed)) == ({}, ())
