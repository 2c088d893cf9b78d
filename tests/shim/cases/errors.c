/* Descriptor 2: what the library has to say must never land in a file of the program. */
#include "say.h"

CASE(standard_error_is_closed, "data more") {
    close(2);
    FD(open("data", O_CREAT | O_RDWR, 0644));
    FD(open("more", O_CREAT | O_RDWR, 0644));
    INT(write(2, "own data", 8));
}

CASE(standard_error_is_a_data_file, "data") {
    int fd = FD(open("data", O_CREAT | O_RDWR, 0644));
    INT(dup2(fd, 2));
    INT(write(2, "own data", 8));
    TRY(open("data", O_CREAT | O_RDWR, 0644));
}

CASE(all_standard_descriptors_are_closed, "a b c") {
    int output = fcntl(1, F_DUPFD, 100);
    close(0);
    close(1);
    close(2);
    int a = open("a", O_CREAT | O_RDWR, 0644);
    int b = open("b", O_CREAT | O_RDWR, 0644);
    int c = open("c", O_CREAT | O_RDWR, 0644);
    dup2(output, 1);
    say("%d %d %d\n", a, b, c);
}
