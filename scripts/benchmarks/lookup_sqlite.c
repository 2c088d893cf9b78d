/* The same look-ups as a query of an SQLite database.
 *
 *   lookup_sqlite load DATABASE DIRECTORY   makes the table
 *   lookup_sqlite hit DATABASE DIRECTORY    batches of random names */
#include <sqlite3.h>

#include "batch.h"
#include "keys.h"

#define LOOKUPS 200

static sqlite3 *database;
static sqlite3_stmt *statement;
static struct key key;
static uint64_t state;

static void check(int answer, int wanted) {
    if (answer == wanted)
        return;
    fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *sql) {
    check(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void load(void) {
    run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "CREATE TABLE layouts (path TEXT PRIMARY KEY, stripe_count INTEGER, stripe_size INTEGER,"
        " ost_list TEXT) WITHOUT ROWID; BEGIN");
    const char *insert = "INSERT INTO layouts VALUES (?, 4, 4194304, '0 1 2 3')";
    check(sqlite3_prepare_v2(database, insert, -1, &statement, NULL), SQLITE_OK);
    for (uint32_t i = 0; i < KEY_COUNT; i++) {
        key_set(&key, i);
        sqlite3_bind_text(statement, 1, key.path, (int)key.bytes, SQLITE_STATIC);
        check(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_reset(statement);
    }
    run("COMMIT");
}

static uint64_t loop(int lookup) {
    uint64_t start = now_ns();
    for (int i = 0; i < LOOKUPS; i++) {
        key_set(&key, key_random(&state));
        finish_before_next();
        if (!lookup)
            continue;
        sqlite3_bind_text(statement, 1, key.path, (int)key.bytes, SQLITE_STATIC);
        check(sqlite3_step(statement), SQLITE_ROW);
        if (sqlite3_column_int(statement, 0) != 4 || !sqlite3_column_text(statement, 2))
            give_up("a query gave another answer than expected");
        sqlite3_reset(statement);
    }
    return now_ns() - start;
}

static uint64_t batch(void) {
    uint64_t alone = loop(0);
    return loop(1) - alone;
}

int main(int count, char **words) {
    if (count != 4)
        return 2;
    key = key_make(words[3], "ckpt_", ".h5");
    int loading = strcmp(words[1], "load") == 0;
    int flags = loading ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    check(sqlite3_open_v2(words[2], &database, flags, NULL), SQLITE_OK);
    if (loading) {
        load();
        return 0;
    }
    /* As fast as it gets: all pages in its own cache, nobody else to lock against. */
    run("PRAGMA cache_size = -500000; PRAGMA locking_mode = EXCLUSIVE");
    run("SELECT sum(length(ost_list)) FROM layouts");
    const char *query = "SELECT stripe_count, stripe_size, ost_list FROM layouts WHERE path = ?";
    check(sqlite3_prepare_v2(database, query, -1, &statement, NULL), SQLITE_OK);
    state = key_seed();
    return serve(batch);
}
