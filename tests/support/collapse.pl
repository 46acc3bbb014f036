#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# usage: perf script -F comm,tid,time,period,event,ip,sym,dso[,symoff] | collapse.pl EVENT
# "thread;outermost;...;innermost WEIGHT" of each distinct stack of EVENT. A frame without a symbol is "[its binary]",
# as perfvigil's exports have it; a stack ends before a frame that lies in no binary (its frame pointer was none).
# With symoff a caller's frame at the very start of a function is "?": its call was the last instruction of the function
# before, which perf does not look at.
use strict;
use warnings;

my $wanted = shift // die "usage: collapse.pl EVENT\n";
my (%sum, $comm, $weight, $ended, @stack);

sub sample_ends {
    $sum{join ';', $comm, reverse @stack} += $weight if defined $comm;
    undef $comm;
    @stack = ();
    $ended = 0;
}

while (my $line = <STDIN>) {
    chomp $line;
    if ($line eq '') {
        sample_ends();
    } elsif ($line =~ /^\s+[0-9a-f]+ (.*?)(?:\+0x([0-9a-f]+))? \(([^()]*(?:\([^()]*\))?[^()]*)\)$/) {
        next if !defined $comm || $ended;
        my ($symbol, $offset, $dso) = ($1, $2 // '', $3);
        if ($dso eq '[unknown]') {
            $ended = 1;
            next if @stack;
        }
        if ($symbol eq '[unknown]') {
            $dso =~ s{.*/}{};
            $symbol = $dso =~ /^\[/ ? $dso : "[$dso]";
        }
        $symbol = '?' if @stack && $offset eq '0';
        $symbol =~ s/;/\\x3b/g;
        push @stack, $symbol;
    } elsif ($line =~ /^(.*?)\s+\d+\s+\d+\.\d+:\s+(\d+)\s+(\S+?):\s*$/) {
        sample_ends();
        my ($thread, $period, $event) = ($1, $2, $3);
        next if $event ne $wanted;
        $thread =~ s/^\s+//;
        ($comm, $weight) = ($thread, $period);
    }
}
sample_ends();
print "$_ $sum{$_}\n" for sort keys %sum;
