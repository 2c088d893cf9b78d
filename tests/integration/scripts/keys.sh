# ssh-keygen, openssl, gpg-like modes: secrets must never be readable, not for a moment.
# varying: *.key *.pem id_* *.pub signed* known_hosts* *.rnd
ssh-keygen -q -t ed25519 -N '' -C c -f id_one
ssh-keygen -q -t rsa -b 1024 -N secret -C c -f id_two
ssh-keygen -q -p -P secret -N other -f id_two
ssh-keygen -y -f id_one >public
cut -d ' ' -f 1 public
echo "host $(cut -d ' ' -f 1,2 id_one.pub)" >known_hosts
ssh-keygen -q -H -f known_hosts 2>/dev/null >&2
ssh-keygen -q -R host -f known_hosts 2>/dev/null >&2
echo text >data && ssh-keygen -q -Y sign -n file -f id_one data 2>/dev/null
openssl genpkey -quiet -algorithm ED25519 -out one.key
openssl genrsa -out two.key 1024 2>/dev/null
openssl req -x509 -new -key one.key -subj /CN=x -days 1 -out cert.pem
openssl rand -out random.rnd 32
openssl enc -aes-128-cbc -K 00 -iv 00 -in data -out data.enc 2>/dev/null
openssl dgst -sha256 -out data.sum data
(umask 0 && openssl genpkey -quiet -algorithm ED25519 -out open.key)
stat -c '%a %n' *
rm public data.sig
