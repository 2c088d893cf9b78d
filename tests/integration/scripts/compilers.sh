# cc, ld, ar, strip, objcopy, tcc, make: linkers that map their output, compilers with temporaries.
cat >main.c <<'END'
#include <stdio.h>
extern int helper(void);
int main(void) { printf("%d\n", helper()); return 0; }
END
echo 'int helper(void) { return 42; }' >helper.c
cat >Makefile <<'END'
objects = main.o helper.o
program: $(objects)
	$(CC) -o $@ $(objects)
%.o: %.c
	$(CC) -MMD -O1 -g -c -o $@ $<
libhelper.a: helper.o
	rm -f $@ && $(AR) rcD $@ $^
libhelper.so: helper.c
	$(CC) -shared -fPIC -o $@ $<
-include *.d
END
make -s -j2 program libhelper.a libhelper.so
./program
make -q program
touch main.c && make -n program
gcc -pipe -o piped main.c helper.c && ./piped
gcc -save-temps -o saved main.c helper.c && ./saved
gcc -o archived main.c libhelper.a && ./archived
gcc -flto -O2 -o optimised main.c helper.c && ./optimised
gcc -o broken main.c 2>/dev/null || echo "link error: $?"
tcc -o tiny main.c helper.c && ./tiny
tcc helper.c -run main.c
strip -o stripped program && ./stripped
cp program stripped_in_place && strip stripped_in_place
objcopy --only-keep-debug program program.debug
objcopy --add-gnu-debuglink=program.debug program linked_to_debug
ar t libhelper.a && ranlib -D libhelper.a
