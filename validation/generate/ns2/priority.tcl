# Two sources of TCP and UDP flows that share one slow link, with or without control of the flows
# at the source by their priorities (yang2001), in ns-2.
#
#   ns priority.tcl key value ...
#
# S1 and S2 send over routers R1 and R2 to D1 and D2; only R1 to R2 is slow. The TCP flows of a
# source have the priorities 1, 2, 3, 4, 1, ..., its UDP flows 3, 4, 3, ... (1 is the highest); with
# `order blocks` first all flows of one priority, then those of the next. What controls the flows of
# a source is its mechanism:
#   be  nothing (best effort): all flows send from the start;
#   cc  congestion control: every `check` seconds the source looks whether one of its sending TCP
#       flows has cut its window since. If so, flows of low priority stop: with `stop top` all below
#       the highest priority that has unfinished flows, with `stop one` one more level of priority.
#       After `hold` seconds without another cut they send again: all, or one more level;
#   ts  time slots: one flow at a time, round robin, a turn of priority P lasts
#       2^(9-P) x `scale` slots of `slot` seconds, and ends early when the flow finishes.
# With `ageing` above 0 the unfinished flows gain one level of priority every `ageing` seconds.
# A stopped TCP sender takes acknowledgements (`acks lost`: they are thrown away) and may time out,
# but sends nothing; a stopped UDP source keeps its place. A TCP flow of `size` bytes finishes when
# its last byte is acknowledged, a UDP flow when its receiver got `size` bytes (`finished received`)
# or when they have been sent as far as the queue (`finished sent`); until then it goes on sending.
# Size 0: flows never finish.
#
# Writes into the working folder:
#   flows.txt    id, source, protocol, priority, mechanism, start, finish (-1: never), time allowed to
#                send, times stopped, then packets: arrived at R1's queue, dropped there, left it, and
#                for TCP sent, of these again, timeouts, last acknowledged; for UDP received and zeros
#   sources.txt  source, mechanism, congestion signals, turns, rounds, time of the last finish
#   shares.txt   (with `times`) time, id, packets that arrived at R1's queue, were dropped, left it

array set o {
    s1 be  s2 be  tcp1 4  udp1 3  tcp2 3  udp2 3
    size 1000000  discipline FCFS  seed 1  jitter 0.01  times {}  limit 30000  drain 5
    bandwidth 1e6  delay 0.02  access 10e6  near 0.002
    buffer 50  agent Agent/TCP  window 20  packet 1000  udp_packet 210  udp_rate 448e3  random 1
    sfq_limit 40  sfq_buckets 16
    drr_limit 25000  drr_buckets 10  drr_quantum 250
    red_min 5  red_max 15  red_weight 0.002  red_linterm 10
    finished received  slot 0.01  scale 1  ageing 0  stop top  hold 1  check 0.2
    acks taken  order turns
}
array set o $argv

# Defaults that ns-2 changed after the paper, set back (the comments in ns-default.tcl name them).
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set windowInit_ 1
Agent/TCP set singledup_ 0
Agent/TCP set useHeaders_ false
Agent/TCP set tcpTick_ 0.1
Agent/TCP set window_ $o(window)
Agent/TCP set packetSize_ $o(packet)
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set gentle_ false
Queue/RED set thresh_ $o(red_min)
Queue/RED set maxthresh_ $o(red_max)
Queue/RED set q_weight_ $o(red_weight)
Queue/RED set linterm_ $o(red_linterm)
Queue/SFQ set maxqueue_ $o(sfq_limit)
Queue/SFQ set buckets_ $o(sfq_buckets)
Queue/DRR set blimit_ $o(drr_limit)
Queue/DRR set buckets_ $o(drr_buckets)
Queue/DRR set quantum_ $o(drr_quantum)

# Every seed is a substream of two random number streams: ours for the starts and addresses, and
# ns-2's default one for RED.
remove-all-packet-headers
add-packet-header Flags IP TCP RTP
set ns [new Simulator]
[set defaultRNG] seed 1
set rng [new RNG]
for {set i 0} {$i < $o(seed)} {incr i} {
    $rng next-substream
    [set defaultRNG] next-substream
}

foreach name {S1 S2 R1 R2 D1 D2} { set node($name) [$ns node] }
foreach {a b} {S1 R1 S2 R1 R2 D1 R2 D2} {
    $ns duplex-link $node($a) $node($b) $o(access) $o(near) DropTail
    $ns queue-limit $node($a) $node($b) 1000000
    $ns queue-limit $node($b) $node($a) 1000000
}
array set queue {FCFS DropTail SFQ SFQ RED RED DRR DRR}
$ns simplex-link $node(R1) $node(R2) $o(bandwidth) $o(delay) $queue($o(discipline))
$ns simplex-link $node(R2) $node(R1) $o(bandwidth) $o(delay) DropTail
$ns queue-limit $node(R1) $node(R2) $o(buffer)
$ns queue-limit $node(R2) $node(R1) 1000000
set monitor [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $node(R1) $node(R2)] $monitor

# SFQ and DRR of this ns-2 tell flows apart by their addresses without the ports, so that every flow
# gets an address of its own, at random. DRR complains about each packet of flows that share a
# bucket and differ in their address; there, a flow gets the one address of a random bucket.
for {set a 1} {[array size bucket] < $o(drr_buckets)} {incr a} {
    set b [expr {((($a + ($a >> 8) + ~($a >> 4)) % 16777215) + 1) % $o(drr_buckets)}]
    if {![info exists bucket($b)]} { set bucket($b) $a }
}
proc address {} {
    global o rng bucket addresses
    if {$o(discipline) eq "DRR"} { return $bucket([$rng integer $o(drr_buckets)]) }
    while {[info exists addresses([set a [$rng integer 1048576]])]} {}
    return $a
}

# The window cuts of the TCP flows that send are written to a file of their source; what it holds is
# looked at, and forgotten, by the congestion control.
set quiet [open /dev/null w]
foreach s {1 2} { set signal($s) [open signal$s.txt w] }

# ---- flows: each array is indexed by the flow's number, from 1

set flows {}
proc flow {source protocol priority} {
    global o ns node rng quiet flows of P kind agent sink app mech left start finish allowed on since stops \
        generation addresses
    lappend flows [set f [expr {[llength $flows] + 1}]]
    set P($f) $priority
    set of($f) $source
    set kind($f) $protocol
    set mech($f) $o(s$source)
    set start($f) [expr {$o(jitter) * [$rng uniform 0 1]}]
    set finish($f) -1
    foreach name {allowed on stops generation} { set ${name}($f) 0 }
    if {$protocol eq "TCP"} {
        set agent($f) [new $o(agent)]
        set sink($f) [new Agent/TCPSink]
        set app($f) [new Application/FTP]
        set left($f) [expr {($o(size) + $o(packet) - 1) / $o(packet)}]
        $agent($f) proc done {} "finished $f \[$ns now\]"
    } else {
        set agent($f) [new Agent/UDP]
        set sink($f) [new Agent/LossMonitor]
        set app($f) [new Application/Traffic/CBR]
        $app($f) set packetSize_ $o(udp_packet)
        $app($f) set rate_ $o(udp_rate)
        $app($f) set random_ $o(random)
        set left($f) [expr {($o(size) + $o(udp_packet) - 1) / $o(udp_packet)}]
    }
    $agent($f) set fid_ $f
    $ns attach-agent $node(S$source) $agent($f)
    $ns attach-agent $node(D$source) $sink($f)
    $ns connect $agent($f) $sink($f)
    set a [address]
    set addresses($a) $f
    $agent($f) set agent_addr_ $a
    $app($f) attach-agent $agent($f)
    if {$protocol eq "TCP"} {
        $agent($f) set window_ 0
        if {$mech($f) eq "cc"} {
            $agent($f) attach $quiet
            $agent($f) trace ncwndcuts_
        }
        if {$o(size) > 0} {
            $ns at $start($f) "$app($f) produce $left($f)"
        } else {
            $ns at $start($f) "$app($f) start"
        }
    }
}
foreach source {1 2} {
    foreach {protocol first levels} {TCP 1 4 UDP 3 2} {
        set n $o([string tolower $protocol]$source)
        for {set i 0} {$i < $n} {incr i} {
            set step [expr {$o(order) eq "turns" ? $i % $levels : $i * $levels / $n}]
            flow $source $protocol [expr {$first + $step}]
        }
    }
    set member($source) {}
    foreach name {signals turns rounds last current generation_of age} { set ${name}($source) 0 }
    set level($source) 6
    for {set p 1} {$p <= 6} {incr p} { set remaining($source,$p) 0 }
    set until($source) 0
}
foreach f $flows {
    lappend member($of($f)) $f
    incr remaining($of($f),$P($f))
}
set unfinished [llength $flows]
array set rest [list 1 $member(1) 2 $member(2)]

# Levels of priority that every flow has gained by ageing, and the priority of a flow now.
proc gained {} {
    global o ns
    return [expr {$o(ageing) > 0 ? int([$ns now] / $o(ageing)) : 0}]
}
proc aged {p} {
    incr p -[gained]
    return [expr {$p < 1 ? 1 : $p}]
}

# Where the acknowledgements of a TCP flow go: to its sender or to nowhere.
set nowhere [new Agent/Null]
proc deliver {f receiver} {
    global o node agent of
    if {$o(acks) eq "lost"} {
        [$node(S$of($f)) demux] install [$agent($f) set agent_port_] $receiver
    }
}

# Let a flow send, or stop it.
proc enable {f} {
    global o ns kind agent app mech of on since generation signal
    if {$on($f)} return
    set on($f) 1
    set since($f) [$ns now]
    if {$kind($f) eq "TCP"} {
        if {$mech($f) eq "cc"} { $agent($f) attach $signal($of($f)) }
        deliver $f $agent($f)
        $agent($f) set window_ $o(window)
        $agent($f) advanceby 0
    } else {
        $app($f) start
        if {$o(size) > 0} { watch $f [incr generation($f)] }
    }
}
proc disable {f} {
    global ns kind agent app mech on since allowed stops generation quiet nowhere
    if {!$on($f)} return
    set on($f) 0
    incr stops($f)
    set allowed($f) [expr {$allowed($f) + [$ns now] - $since($f)}]
    if {$kind($f) eq "TCP"} {
        if {$mech($f) eq "cc"} { $agent($f) attach $quiet }
        $agent($f) set window_ 0
        deliver $f $nowhere
    } else {
        $app($f) stop
        incr generation($f)
    }
}

# Counters of a flow at R1's queue.
proc counted {f} {
    global monitor agent sink found
    if {![info exists found($f)]} {
        set it [[$monitor classifier] lookup auto 0 0 $f]
        if {$it eq ""} { return {0 0 0} }
        set found($f) $it
    }
    return [list [$found($f) set parrivals_] [$found($f) set pdrops_] [$found($f) set pdepartures_]]
}

# A UDP flow is looked at again when it may have finished, at the earliest.
proc watch {f generation_seen} {
    global o ns sink left finish generation
    if {$generation_seen != $generation($f) || $finish($f) >= 0} return
    if {$o(finished) eq "received"} {
        set done [$sink($f) set npkts_]
        set time [$sink($f) set lastPktTime_]
    } else {
        set done [lindex [counted $f] 0]
        set time [$ns now]
    }
    set missing [expr {$left($f) - $done}]
    if {$missing <= 0} {
        finished $f $time
    } else {
        set wait [expr {$missing * 8.0 * $o(udp_packet) / $o(udp_rate)}]
        $ns at [expr {[$ns now] + $wait}] "watch $f $generation_seen"
    }
}

proc finished {f time} {
    global o ns finish unfinished rest remaining P of mech last current \
        stops on
    if {$finish($f) >= 0} return
    set finish($f) $time
    set s $of($f)
    set last($s) $time
    if {$on($f)} {
        disable $f
        incr stops($f) -1
    }
    set k [lsearch -exact $rest($s) $f]
    set rest($s) [lreplace $rest($s) $k $k]
    incr remaining($s,$P($f)) -1
    if {[incr unfinished -1] == 0} { $ns at [expr {[$ns now] + $o(drain)}] "report" }
    if {$mech($f) eq "ts" && $current($s) == $f} { turn $s $k }
}

# ---- time slots: the flow at `place` of the unfinished ones has the next turn

proc turn {s place} {
    global o ns P rest current turns rounds generation_of
    incr generation_of($s)
    set current($s) 0
    if {[llength $rest($s)] == 0} return
    if {$place >= [llength $rest($s)]} {
        set place 0
        incr rounds($s)
    }
    incr turns($s)
    set f [lindex $rest($s) $place]
    set current($s) $f
    set length [expr {pow(2, 9 - [aged $P($f)]) * $o(scale) * $o(slot)}]
    set mine $generation_of($s)
    enable $f
    # A UDP flow may turn out to have finished at the end of its last turn; then the next has begun.
    if {$mine == $generation_of($s)} {
        $ns at [expr {[$ns now] + $length}] "endturn $s $f $mine"
    }
}
proc endturn {s f mine} {
    global rest generation_of
    if {$mine != $generation_of($s)} return
    disable $f
    turn $s [expr {[lsearch -exact $rest($s) $f] + 1}]
}

# ---- congestion control

# Highest priority with unfinished flows.
proc highest {s} {
    global remaining
    for {set p 1} {$p < 6 && $remaining($s,$p) == 0} {incr p} {}
    return [aged $p]
}

# Let the flows at and above a level of priority send, and stop the others.
proc apply_level {s} {
    global rest P level
    foreach f $rest($s) {
        if {[aged $P($f)] <= $level($s)} { enable $f } else { disable $f }
    }
}

proc look {s} {
    global o ns rest level until signals signal age
    if {[llength $rest($s)] == 0} return
    set time [$ns now]
    set before $level($s)
    set highest [highest $s]
    if {[tell $signal($s)] > 0} {
        seek $signal($s) 0
        incr signals($s)
        set level($s) [expr {$o(stop) eq "top" ? $highest : $before - 1}]
        set until($s) [expr {$time + $o(hold)}]
    } elseif {$time >= $until($s) && $before < 6} {
        set level($s) [expr {$o(stop) eq "top" ? 6 : $before + 1}]
        set until($s) [expr {$time + $o(hold)}]
    }
    if {$level($s) < $highest} { set level($s) $highest }
    if {$level($s) != $before || [gained] != $age($s)} {
        set age($s) [gained]
        apply_level $s
    }
    $ns at [expr {$time + $o(check)}] "look $s"
}

# ---- results

proc report {} {
    global o ns flows of kind P mech start finish on allowed stops agent sink signals turns rounds last
    set file [open flows.txt w]
    foreach f $flows {
        if {$on($f)} {
            disable $f
            incr stops($f) -1
        }
        set line [list $f $of($f) $kind($f) $P($f) $mech($f) $start($f) $finish($f) $allowed($f) $stops($f)]
        eval lappend line [counted $f]
        if {$kind($f) eq "TCP"} {
            foreach name {ndatapack_ nrexmitpack_ nrexmit_ ack_} {
                lappend line [$agent($f) set $name]
            }
        } else {
            lappend line [$sink($f) set npkts_] 0 0 0
        }
        puts $file $line
    }
    close $file
    set file [open sources.txt w]
    foreach s {1 2} { puts $file [list $s $o(s$s) $signals($s) $turns($s) $rounds($s) $last($s)] }
    close $file
    exit 0
}

proc share {file} {
    global ns flows
    foreach f $flows { puts $file [concat [$ns now] $f [counted $f]] }
    flush $file
}
if {[llength $o(times)]} {
    set file [open shares.txt w]
    foreach time $o(times) { $ns at $time "share $file" }
}

foreach s {1 2} {
    if {$o(s$s) eq "be"} {
        foreach f $member($s) { $ns at $start($f) "enable $f" }
    } elseif {$o(s$s) eq "cc"} {
        foreach f $member($s) { $ns at $start($f) "enable $f" }
        $ns at [expr {$o(jitter) + $o(check)}] "look $s"
    } else {
        $ns at $o(jitter) "turn $s 0"
    }
}
$ns at $o(limit) "report"
$ns run
