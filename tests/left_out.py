"""Which tests cannot run on a cluster, behind Sentinel or on a fake, and why. Every other test that uses the store does."""

from pathlib import PurePath

import pytest

from tests.stores import KIND

OWN_STORE = "uses no store, or one of its own"

_CUT = "cuts the path to the one socket of the bundled store"
_ONE_LINE = "holds up and counts the connections of a single server"
_STANDALONE = "says what is reported of a single server"
_ONE_NODE = "sets up or asks one node, where a cluster has six"
_NO_SITE = "breaks a key before there is a site whose tag it could have"
_SAME_NAME = "looks at two sites whose keys differ in the tag alone"
_CROWD = "drives the library's own cluster client with a crowd, which loses connections; ours lets them wait their turn"

_SENTINEL: dict[str, str] = {
    "integration/counters/test_flushing.py::test_a_store_that_is_away_and_comes_back_misses_nothing": _CUT,
    "integration/counters/test_flushing.py::test_counts_whose_answer_was_lost_count_once": _CUT,
    "integration/counters/test_flushing.py::test_a_stop_while_the_store_is_away_ends_and_says_what_is_lost": _CUT,
    "integration/counters/test_flushing.py::test_more_than_fits_is_dropped_and_counted_as_lost": _CUT,
    "integration/outbox/test_crashes.py::test_whichever_command_is_the_last_all_totals_are_exact": _CUT,
    "integration/storage/test_checks.py::test_read_only_credentials_are_found_out_at_start_s2_42": _CUT,
    "integration/storage/test_line.py": _ONE_LINE,
    "integration/storage/test_report.py::test_the_report_of_a_store_that_tells_everything": _STANDALONE,
}

_CLUSTER: dict[str, str] = _SENTINEL | {
    "integration/counters/test_flushing.py::test_one_sites_trouble_is_not_the_others_and_nothing_counts_twice": _NO_SITE,
    "integration/counters/test_flushing.py::test_a_full_store_keeps_counts_waiting": _ONE_NODE,
    "integration/counters/test_visitors.py::test_nobody_can_be_followed_to_another_site_or_month": "joins sets of two sites",
    "integration/http/test_health.py::test_a_store_that_takes_no_writes_is_not_ready_s2_42": _ONE_NODE,
    "integration/live/test_bad_input.py::test_a_storm_of_subscriptions_is_ten_pages": _ONE_NODE,
    "integration/live/test_leaks.py::test_five_hundred_visits_leave_nothing_behind": _ONE_NODE,
    "integration/live/test_presence.py::test_a_crowd_that_comes_and_goes_on_three_workers_is_counted_exactly": _CROWD,
    "integration/live/test_presence.py::test_the_work_of_taking_people_away_grows_with_their_number_and_not_with_its_square": _ONE_NODE,
    "integration/moderation/test_claims.py::test_after_very_much_at_once_the_list_is_to_be_loaded_again": "needs a transaction",
    "integration/moderation/test_claims.py::test_a_stream_that_is_over_leaves_nothing_behind": _ONE_NODE,
    "integration/outbox/test_looking.py::test_a_look_at_many_sites_reads_none_of_their_records": _ONE_NODE,
    "integration/rebuild/test_rebuild.py::test_a_check_changes_nothing_and_a_rebuild_says_what_it_changed": (
        "compares sentences that name keys, which have tags there"
    ),
    "integration/sites/test_site_deletion.py::test_a_deletion_goes_on_wherever_it_was_cut_off": _SAME_NAME,
    "integration/sites/test_site_deletion.py::test_nothing_of_a_deleted_site_is_left_and_the_other_site_is_as_it_was": _SAME_NAME,
    "integration/storage/test_checks.py::test_the_listener_comes_back_and_says_that_it_missed_something": _ONE_NODE,
    "integration/storage/test_client.py::test_who_finds_all_connections_taken_is_told_so_after_a_while": _ONE_NODE,
    "integration/storage/test_listener.py::test_a_question_that_got_lost_is_asked_again_on_another_line": _ONE_NODE,
    "integration/storage/test_listener.py::test_who_comes_while_another_takes_back_an_unanswered_question_is_heard": _ONE_NODE,
    "integration/storage/test_listener.py::test_who_gives_up_takes_the_channel_from_nobody": _ONE_NODE,
    "integration/storage/test_report.py::test_slow_commands_are_named_and_nothing_of_what_they_held": _ONE_NODE,
    "integration/storage/test_report.py::test_what_a_hosted_store_does_not_tell_is_named": _ONE_NODE,
}

_HLL = "fakeredis keeps a HyperLogLog as a set"
_OTHER_PROGRAM = "another program, or a server of its own, looks at the store"
_CJSON = "an empty object of Lua's cjson comes out as a list"
_SERVER = "asks or sets what only a server has: CONFIG, INFO, DUMP, SCRIPT, CLIENT"
_SHA = "fakeredis has no redis.sha1hex in its Lua"

_FAKE: dict[str, str] = {
    "integration/backup": _SERVER,
    "integration/comments/test_at_once.py": _HLL,
    "integration/comments/test_reading.py::test_after_events_were_missed_readers_do_not_get_what_was_kept": _SERVER,
    "integration/comments/test_rows.py": "ten thousand scripts take a fake three times as long",
    "integration/copying": _SERVER,
    "integration/counters": _HLL,
    "integration/doctor": _SERVER,
    "integration/erasing": _SERVER,
    "integration/http/test_health.py": _SERVER,
    "integration/http/test_hostile_logs.py": _HLL,
    "integration/live": _OTHER_PROGRAM,
    "integration/loadgen": _OTHER_PROGRAM,
    "integration/moderation/outside/test_akismet.py": _CJSON,
    "integration/moderation/test_appeals.py": _CJSON,
    "integration/moderation/test_bulk.py": _CJSON,
    "integration/moderation/test_burying.py": _CJSON,
    "integration/moderation/test_cards.py": _CJSON,
    "integration/moderation/test_claims.py": _CJSON,
    "integration/moderation/test_decisions.py": _CJSON,
    "integration/moderation/test_desk.py": _CJSON,
    "integration/moderation/test_filter_commands.py": _OTHER_PROGRAM,
    "integration/moderation/test_log.py": _CJSON,
    "integration/moderation/test_reports.py": _CJSON,
    "integration/moderation/test_screened.py": _HLL,
    "integration/moderation/test_undoing.py": _CJSON,
    "integration/moderation/test_user_commands.py": _OTHER_PROGRAM,
    "integration/notifications": _SHA,
    "integration/outbox": _SERVER,
    "integration/rebuild": _SERVER,
    "integration/sites/test_roles_matrix.py": _CJSON,
    "integration/sites/test_site_deletion.py": _OTHER_PROGRAM,
    "integration/storage": _SERVER,
    "integration/topologies": _SERVER,
}

LEFT_OUT: dict[str, dict[str, str]] = {"valkey": {}, "fake": _FAKE, "sentinel": _SENTINEL, "cluster": _CLUSTER}


def reason_for(item: pytest.Item, kind: str) -> str | None:
    """An entry names a folder, a file, or one test of it after `::`; paths begin at `tests/`."""
    if kind == "valkey":
        return None
    if not {"bundled", "real_store"} & set(getattr(item, "fixturenames", ())):
        return OWN_STORE
    path, _, test = item.nodeid.removeprefix("tests/").partition("::")
    test = test.partition("[")[0]
    named = (f"{path}::{test}", path, *(str(folder) for folder in PurePath(path).parents))
    return next((LEFT_OUT[kind][name] for name in named if name in LEFT_OUT[kind]), None)


def leave_out(items: list[pytest.Item]) -> None:
    """Skip what cannot run here; the reasons are in the summary of skipped tests. Instead of a fake they get the real one."""
    if KIND == "fake":
        return
    for item in items:
        if (reason := reason_for(item, KIND)) is not None:
            item.add_marker(pytest.mark.skip(reason=f"{KIND}: {reason}"))


def summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end how many tests ran on this store, and how many did not."""
    if KIND in ("valkey", "fake"):
        return
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", ())]
    own = sum(f"{KIND}: {OWN_STORE}" in reason for reason in skipped)
    listed = sum(f"{KIND}: " in reason for reason in skipped) - own
    ran = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed"))
    terminalreporter.write_line(
        f"{KIND}: {ran} tests ran, {listed} cannot run on it (tests/left_out.py says why), {own} do not use this store"
    )
