"""The server: what it refuses, that it goes away; and that no password is ever told."""

import os
import socket
import traceback
from pathlib import Path

import pytest
from database_examples import an_application, files, store_run
from mariadb_server import PASSWORD, PLAIN_USER, QUOTED_PASSWORD, USER, MariaDbServer

from iez_common.database import open_database
from iez_common.errors import (
    DatabaseAddressError,
    DatabaseError,
    DatabaseForeignError,
    DatabaseUnavailableError,
)

pytest_plugins = ["database_fixtures"]
mariadb = pytest.mark.mariadb


def error_of(url: str, **options: bool) -> DatabaseError:
    """What opening comes to; nothing of it, not even its traceback, tells the password."""
    with pytest.raises(DatabaseError) as caught:
        open_database(url, **options)
    told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    for secret in (PASSWORD, QUOTED_PASSWORD, "geheim"):
        assert secret not in told
    return caught.value


@mariadb
def test_tables_are_made_only_when_asked_for(server: MariaDbServer) -> None:
    name = server.new_database()
    error = error_of(server.url(name))
    assert isinstance(error, DatabaseForeignError)
    assert "has no tables of iez" in error.message
    assert error.hint == "iez db upgrade"
    assert server.run_sql("SHOW TABLES", database=name) == []
    open_database(server.url(name), upgrade=True).close()
    open_database(server.url(name)).close()
    assert len(server.run_sql("SHOW TABLES", database=name)) == 9


@mariadb
def test_tables_whose_making_was_cut_off_are_made_again(server: MariaDbServer) -> None:
    name = server.new_database()
    open_database(server.url(name), upgrade=True).close()
    server.run_sql("DELETE FROM iez_schema", "DROP TABLE files", database=name)
    assert error_of(server.url(name)).hint == "iez db upgrade"
    with open_database(server.url(name), upgrade=True) as database:
        store_run(database, an_application(database))


@mariadb
def test_a_foreign_database_is_refused_and_not_touched(server: MariaDbServer) -> None:
    name = server.new_database()
    server.run_sql("CREATE TABLE wp_posts (id INT)", database=name)
    for upgrade in (False, True):
        error = error_of(server.url(name), upgrade=upgrade)
        assert isinstance(error, DatabaseForeignError)
        assert error.exit_code == 65
        assert "something else" in error.message
    assert server.run_sql("SHOW TABLES", database=name) == [("wp_posts",)]


@mariadb
def test_a_wrong_password_a_wrong_name_and_a_wrong_user_are_told_apart(
    server: MariaDbServer,
) -> None:
    url = server.url(server.new_database())
    wrong = error_of(url.replace(QUOTED_PASSWORD, "geheim2"))
    assert isinstance(wrong, DatabaseUnavailableError)
    assert wrong.exit_code == 69
    assert "Access denied" in wrong.message
    assert "does not exist" in error_of(server.url("iez_none")).message
    assert "refuses" in error_of(server.url("mysql")).message
    assert "refuses" in error_of(url.replace(USER, "nobody_known")).message


@mariadb
def test_users_need_no_right_to_change_tables(server: MariaDbServer) -> None:
    url = server.url(server.new_database())
    for_users = url.replace(USER, PLAIN_USER)
    assert "refuses" in error_of(for_users, upgrade=True).message
    open_database(url, upgrade=True).close()
    with open_database(for_users) as database:
        application = an_application(database)
        store_run(database, application)
        database.prune(keep_runs=0)
        database.forget(application)
        assert dict(database.info().rows)["applications"] == 0


@mariadb
def test_the_password_can_come_from_a_file(
    server: MariaDbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = server.new_database()
    secret = tmp_path / "a password"
    secret.write_text(f"{PASSWORD}\nmore\n")
    secret.chmod(0o600)
    quoted = str(secret).replace(" ", "%20")
    url = f"mysql://{USER}@127.0.0.1:{server.port}/{name}?password_file={quoted}"
    with open_database(url, upgrade=True) as database:
        assert database.place == f"mysql://{USER}@127.0.0.1:{server.port}/{name}"
        assert PASSWORD not in repr(database.info())
    monkeypatch.setenv("HOME", str(tmp_path))
    open_database(url.replace(f"{tmp_path}/", "~/")).close()
    secret.chmod(0o640)
    error = error_of(url)
    assert isinstance(error, DatabaseAddressError)
    assert error.exit_code == 78
    assert "open to others" in error.message
    secret.chmod(0o600)
    secret.write_text("\n")
    assert "holds no password" in error_of(url).message
    secret.unlink()
    assert "no such file" in error_of(url).message


def test_a_server_that_is_away_is_an_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = error_of(f"mysql://iez:geheim@127.0.0.1:{port}/iez")
    assert isinstance(error, DatabaseUnavailableError)
    assert error.exit_code == 69
    assert f"mysql://iez@127.0.0.1:{port}/iez does not answer" in error.message
    assert "does not answer" in error_of("mysql://iez:geheim@no-such-host.invalid/iez").message


def test_something_that_never_answers_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        error = error_of(f"mysql://iez:geheim@127.0.0.1:{silent.getsockname()[1]}/iez")
    assert "does not answer" in error.message


@mariadb
def test_a_server_that_dies_in_the_middle_is_an_error(own_server: MariaDbServer) -> None:
    url = own_server.url(own_server.new_database())
    with open_database(url, upgrade=True) as database:
        application = an_application(database)
        store_run(database, application, created=files(45_000))
        rows = database.history(database.history_runs(application))
        next(rows)

        def dying() -> object:
            yield from files(25_000)
            own_server.kill()
            yield from files(25_000)

        run_id = database.runs()[0].run.id
        for use in (
            lambda: database.add_files(run_id, dying()),
            lambda: list(rows),
            lambda: database.runs(),
        ):
            with pytest.raises(DatabaseUnavailableError, match="does not answer") as caught:
                use()
            assert PASSWORD not in "".join(traceback.format_exception(caught.value))
        own_server.start()
        (stored,) = database.runs()
        assert stored.run.file_count == 45_000, "the next one finds it again"


@mariadb
def test_two_servers_writers_that_wait_for_each_other_both_end(server: MariaDbServer) -> None:
    """A lock held for too long is told; nothing is written."""
    name = server.new_database()
    with open_database(server.url(name), upgrade=True, patience_s=1) as database:
        application = an_application(database)
        other = server.connect(name)
        other.cursor().execute("SELECT * FROM applications FOR UPDATE")
        with pytest.raises(DatabaseUnavailableError, match="is busy"):
            database.start_epoch(application, 0)
        other.rollback()
        other.close()
        assert database.application(application.id) == application


@pytest.mark.parametrize(
    "url",
    [
        "mysql://",
        "mysql://host/name",
        "mysql://user:geheim@host",
        "mysql://user:geheim@host/",
        "mysql://user:geheim@/name",
        "mysql://user:geheim@host:port/name",
        "mysql://user:geheim@host:99999/name",
        "mysql://user:geheim@host/name/more",
        "mysql://user:geheim@host/name?use_pure=0",
        "mysql://user:geheim@host/name?x",
        "mysql://user:geheim@host/name?password_file=/p",
        "mysql://user:geheim@[::1/name",
        "mysql://user:geheim",
        "postgresql://user:geheim@host/name",
        "sqlite://relative.db",
        "sqlite:///",
        "iez.db",
        "",
    ],
)
def test_an_address_that_makes_no_sense_is_refused(url: str) -> None:
    error = error_of(url)
    assert isinstance(error, DatabaseAddressError)
    assert error.exit_code == 78


def test_nothing_is_left_in_the_environment() -> None:
    assert not any("geheim" in value for value in os.environ.values())
