# Every redirection of the shell that can create a file.
# unplaced: nowhere no_mode
echo one >plain
echo two >>plain
echo three >>appended
echo both &>both
ls missing &>>both || echo "ls: $?"
cat >here <<END
a here-document in $PWD
END
cat >here_string <<<"a here-string"
: >|clobbered
exec 3>third 4>>fourth
echo to three >&3
echo to four >&4
exec 3>&- 4>&-
exec {named}>named
echo "descriptor $named"
echo text >&"$named"
exec {named}<>read_write
exec {named}>&-
tee >(tr a-z A-Z >upper) <here >/dev/null
wait
while [ ! -s upper ]; do sleep 0.01; done
cat <(sort plain) >sorted
(umask 077 && echo secret >private)
(umask 777 && echo nothing >no_mode) || true
mkdir locked && cd locked && echo "a relative path" >../locked/./file && cd ..
cd tmp && rmdir "$PWD" && { echo lost >file; } 2>&1 || echo "deleted directory: $?"
cd ..
echo x >missing/file || echo "no directory: $?"
echo x >locked || echo "a directory: $?"
echo x >file/ || echo "a last slash: $?"
ln -s nowhere dangling
echo through >dangling
ln -s loop loop
echo x >loop || echo "a loop: $?"
for i in {1..200}; do echo "$i" >"many.$i"; done
coproc { cat >coprocess; }
echo hello >&"${COPROC[1]}"
exec {COPROC[1]}>&-
wait
printf 'line\n' >$'name with\nnewline and \xff'
