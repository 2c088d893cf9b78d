# perl: open in each mode, sysopen with flags, File::Temp, File::Copy, dup, in-memory.
# unplaced: no_mode
perl -MFcntl=:DEFAULT,:flock -MFile::Copy -MFile::Path=make_path -MFile::Temp=:POSIX,tempdir -e '
    use strict; use warnings;
    for my $mode (">", ">>", "+>", "+>>") {
        open(my $f, $mode, "mode_" . ord $mode) or print "$mode: $!\n";
        print $f "text $mode"; print fileno($f), "\n"; close $f;
    }
    sysopen(my $one, "exclusive", O_WRONLY | O_CREAT | O_EXCL, 0640) or die;
    syswrite $one, "x";
    sysopen(my $two, "exclusive", O_WRONLY | O_CREAT | O_EXCL) or print "$!\n";
    sysopen(my $three, "exclusive", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600) or die;
    print -s "exclusive", "\n";
    sysopen(my $four, "no_mode", O_WRONLY | O_CREAT, 0) or die;
    sysopen(my $five, "read_create", O_RDONLY | O_CREAT, 0644) or die;
    open(my $copy, ">&", $one) or die; open(my $fd, ">&=", fileno $one) or die;
    open(STDOUT, ">", "stdout") or die; print "to a file\n";
    system "echo from a child"; close STDOUT;
    copy("exclusive", "copied") or die; move("copied", "moved") or die;
    make_path("deep/er/est"); open(my $deep, ">", "deep/er/est/file") or die; flock $deep, LOCK_EX;
    my ($h, $name) = tmpnam(); print $h "x"; unlink $name;
    my $dir = tempdir(CLEANUP => 1); open(my $t, ">", "$dir/t") or die;
    my $temp = File::Temp->new; print $temp "x";
    for (1 .. 500) { open(my $f, ">", "loop_$_") or die "$_: $!"; print $f $_; }
    unlink glob "loop_*";
    open(my $bad, ">", "missing/file") or print STDERR "$!\n";
    open(my $pipe, "|-", "cat >from_pipe") or die; print $pipe "piped"; close $pipe;
    if (!fork) { open(my $c, ">", "child") or die; print $c $$ > 0; exit 3 }
    wait; print STDERR $? >> 8, "\n";
'
perl -e 'open(F, ">two_arguments") or die; print F 1'
