/* The same look-ups as a query of a MariaDB server, with one prepared statement on one connection.
 *
 *   lookup_mariadb load SOCKET DIRECTORY CSV   makes the table from a file the server can read
 *   lookup_mariadb hit SOCKET DIRECTORY        batches of random names */
#include <mysql.h>

#include "batch.h"
#include "keys.h"

#define LOOKUPS 20

static MYSQL *connection;
static MYSQL_STMT *statement;
static struct key key;
static uint64_t state;
static int stripe_count, stripe_size;
static char ost_list[256];

static void check(int failed) {
    if (!failed)
        return;
    fprintf(stderr, "mariadb: %s\n",
            statement ? mysql_stmt_error(statement) : mysql_error(connection));
    exit(1);
}

static void run(const char *sql) {
    check(mysql_query(connection, sql));
}

static void load(const char *csv) {
    char sql[1024];
    run("CREATE DATABASE iez");
    run("CREATE TABLE iez.layouts (path VARBINARY(255) PRIMARY KEY, stripe_count INT,"
        " stripe_size INT, ost_list VARCHAR(255)) ENGINE=InnoDB");
    snprintf(sql, sizeof sql,
             "LOAD DATA INFILE '%s' INTO TABLE iez.layouts FIELDS TERMINATED BY ','", csv);
    run(sql);
}

static void prepare(void) {
    const char *query =
        "SELECT stripe_count, stripe_size, ost_list FROM iez.layouts WHERE path = ?";
    static unsigned long path_bytes, list_bytes;
    static MYSQL_BIND results[3] = {
        {.buffer_type = MYSQL_TYPE_LONG, .buffer = &stripe_count},
        {.buffer_type = MYSQL_TYPE_LONG, .buffer = &stripe_size},
        {.buffer_type = MYSQL_TYPE_STRING,
         .buffer = ost_list,
         .buffer_length = sizeof ost_list,
         .length = &list_bytes},
    };
    static MYSQL_BIND path = {.buffer_type = MYSQL_TYPE_STRING, .length = &path_bytes};
    path_bytes = key.bytes;
    path.buffer = key.path;
    path.buffer_length = key.bytes;
    statement = mysql_stmt_init(connection);
    check(mysql_stmt_prepare(statement, query, strlen(query)));
    check(mysql_stmt_bind_param(statement, &path));
    check(mysql_stmt_bind_result(statement, results));
}

static uint64_t batch(void) {
    uint64_t start = now_ns();
    for (int i = 0; i < LOOKUPS; i++) {
        key_set(&key, key_random(&state));
        check(mysql_stmt_execute(statement));
        check(mysql_stmt_store_result(statement));
        check(mysql_stmt_fetch(statement));
        if (stripe_count != 4)
            give_up("a query gave another answer than expected");
        mysql_stmt_free_result(statement);
    }
    return now_ns() - start;
}

int main(int count, char **words) {
    if (count < 4)
        return 2;
    key = key_make(words[3], "ckpt_", ".h5");
    connection = mysql_init(NULL);
    if (!mysql_real_connect(connection, NULL, "root", NULL, NULL, 0, words[2], 0))
        check(1);
    if (strcmp(words[1], "load") == 0) {
        load(words[4]);
        return 0;
    }
    run("SELECT count(ost_list) FROM iez.layouts"); /* into the buffer pool */
    mysql_free_result(mysql_store_result(connection));
    prepare();
    state = key_seed();
    return serve(batch);
}
