# noclobber is O_EXCL for names that are not there; devices and forced ones pass.
set -o noclobber
echo one >file
echo two >file || echo "refused: $?"
echo three >>file
echo four >|file
echo five >/dev/null
ln -s nowhere dangling
echo six >dangling || echo "a dangling link: $?"
mkfifo pipe
cat pipe >from_pipe &
echo seven >pipe
wait
racers=()
for i in {1..20}; do
    (echo "$i" >race) 2>/dev/null &
    racers+=($!)
done
winners=0
for racer in "${racers[@]}"; do
    if wait "$racer"; then winners=$((winners + 1)); fi
done
echo "winners: $winners"
echo same >|race
