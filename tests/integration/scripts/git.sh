# git: lock files that are renamed, packs written through temporary names, objects with mode 0444.
# varying: */index */worktrees/*/index */ORIG_HEAD */gitdir work/.git/worktrees/*
# unplaced: */objects/* */commit-graph
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
git config --global init.defaultBranch main
git config --global pack.threads 1
git config --global gc.auto 0
git init -q work
cd work
seq 2000 >numbers
mkdir sub && echo text >sub/file && ln -s sub/file link && echo run >tool && chmod +x tool
git add . && git commit -q -m first
seq 3 2500 >numbers && git commit -q -a -m second
git tag -a -m tag v1
git checkout -q -b side HEAD~1
echo side >side && git add side && git commit -q -m side
git checkout -q main && git merge -q -m merge side
git rebase -q v1 side 2>&1 || echo "rebase: $?"
git checkout -q main
git mv tool moved && git stash -q && git stash pop -q && git commit -q -a -m moved
git log --format='%H %s' --all --graph
git worktree add -q ../tree side
echo changed >>../tree/side && git -C ../tree commit -q -a -m in_tree
git gc -q --prune=now
git fsck --strict
git clone -q . ../clone
git clone -q --bare "file://$PWD" ../bare.git
git clone -q --shared --depth 1 "file://$PWD" ../shallow
git archive -o ../archive.tar HEAD
git bundle create -q ../bundle main
git format-patch -q -o ../patches v1..main
git -C ../clone reset -q --hard v1 && git -C ../clone am -q ../patches/0001* || echo "am: $?"
echo dirty >>numbers && git diff >../diff && git checkout -q -- numbers && git apply ../diff
git status --short
git ls-tree -r HEAD
git -C ../bare.git repack -q -a -d -f
git push -q ../bare.git HEAD:refs/heads/pushed
git -C ../bare.git for-each-ref
