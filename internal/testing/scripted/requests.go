package scripted

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Exchange is the outcome of a test by sockperf or perftest.
type Exchange struct {
	// Answers is the round-trip time. Rate is operations a second; 0 for one after the other.
	Answers time.Duration
	Rate    float64
	// Lost is the share of sockperf's requests without an answer.
	Lost float64
	// Fails is the message of a client that fails; empty for success.
	Fails string
}

// RequestResponse answers in a millisecond, and moves 100,000 operations of RDMA a second.
func RequestResponse(l *Load) Exchange {
	if strings.HasSuffix(l.Program, "_bw") {
		return Exchange{Rate: 100_000}
	}
	return Exchange{Answers: time.Millisecond}
}

func (m *Machine) exchange(l *Load) Exchange {
	if m.Exchange == nil {
		return RequestResponse(l)
	}
	return m.Exchange(l)
}

// served returns the server at the other end of a client, and the process there that listens; nil for none.
func (m *Machine) served(l *Load, address string, port int) *process {
	l.Server = m
	if !m.owns(address) {
		l.Server = m.Network.at(address)
	}
	return l.Server.listener(port)
}

// sockperf returns the outcome of a client or a server of version 3.10. A server runs until it is ended.
func (m *Machine) sockperf(l *Load) Result {
	port, _ := strconv.Atoi(l.Params["port"])
	protocol := "udp"
	if l.Params["tcp"] != "" {
		protocol = "tcp"
	}
	if slices.Contains(l.Argv, "server") {
		return Result{Hangs: true, Listens: port, Protocol: protocol}
	}
	const head = "sockperf: == version #3.10-no.git == \n"
	if m.served(l, l.Params["ip"], port) == nil {
		return Result{Stdout: head + "sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)\n",
			Exit: 1, Duration: time.Second}
	}
	e := m.exchange(l)
	seconds := l.number("time", 10)
	const before, lead = 0.4, 2.5
	rate := 1 / e.Answers.Seconds()
	if mps := l.number("mps", 0); mps > 0 {
		rate = mps
	}
	valid := seconds - before - 0.05
	sent := int64(valid * rate)
	lost := int64(float64(sent) * e.Lost)
	took := e.Answers.Seconds() * 1e6
	r := Result{Duration: time.Duration((seconds + lead) * float64(time.Second)),
		Usage: []Use{{Port: m.portTo(l.Params["ip"]).name, CPU: 0.5}}}
	if e.Fails != "" {
		r.Stdout, r.Exit = head+e.Fails, 1
		return r
	}
	r.Stdout = head + fmt.Sprintf("sockperf: [Total Run] RunTime=%.3f sec; Warm up time=400 msec; SentMessages=%d; "+
		"ReceivedMessages=%d\n", seconds, sent, sent-lost) +
		fmt.Sprintf("sockperf: [Valid Duration] RunTime=%.3f sec; SentMessages=%d; ReceivedMessages=%d\n",
			valid, sent, sent-lost) +
		fmt.Sprintf("sockperf: ====> avg-rtt=%.3f (std-dev=1.000)\nsockperf: # dropped messages = %d; # duplicated "+
			"messages = 0; # out-of-order messages = 0\n", took, lost) +
		fmt.Sprintf("sockperf: Total %d observations; each percentile contains %.2f observations\nsockperf: ---> "+
			"<MAX> observation = %.3f\n", sent-lost, float64(sent-lost)/100, 2*took)
	for _, p := range []string{"99.999", "99.990", "99.900", "99.000", "90.000", "75.000", "50.000", "25.000"} {
		r.Stdout += fmt.Sprintf("sockperf: ---> percentile %s = %.3f\n", p, took)
	}
	r.Stdout += fmt.Sprintf("sockperf: ---> <MIN> observation = %.3f\n", took/2)
	if name := l.Params["full-log"]; name != "" {
		var log strings.Builder
		log.WriteString("------------------------------\npacket, txTime(sec), rxTime(sec), rtt(usec)\n")
		for i := range sent - lost {
			at := lead + float64(i)/rate
			fmt.Fprintf(&log, "%d, %.9f, %.9f, %.3f\n", i, at, at+e.Answers.Seconds(), took)
		}
		log.WriteString("------------------------------\n")
		r.Files = map[string]string{path.Base(name): log.String()}
	}
	return r
}

// perftest returns the outcome of a client or a server of one of its programs. Only a client has words after its
// options: the server's address.
func (m *Machine) perftest(l *Load) Result {
	port, _ := strconv.Atoi(l.Params["port"])
	address := l.Argv[len(l.Argv)-1]
	if before := l.Argv[len(l.Argv)-2]; strings.HasPrefix(before, "--") || !strings.Contains(address, ".") {
		return Result{Hangs: true, Listens: port, Protocol: "rdma"}
	}
	listener := m.served(l, address, port)
	if listener == nil {
		return Result{Stderr: "Couldn't connect to " + address + "\n", Exit: 1, Duration: time.Second}
	}
	e := m.exchange(l)
	takes := durationOf(l.Params["duration"])
	if takes == 0 {
		takes = time.Duration(l.number("iters", 1000) * e.Answers.Seconds() * float64(time.Second))
	}
	r := Result{Duration: takes + time.Second, Usage: []Use{{CPU: 0.2}}}
	r.ended = func() { listener.end(0, "") }
	const line = "---------------------------------------------------------------------------------------\n"
	kind := strings.Split(strings.TrimPrefix(l.Program, "ib_"), "_")
	title := map[string]string{"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send"}[kind[0]] +
		map[string]string{"bw": " BW Test", "lat": " Latency Test"}[kind[1]]
	head := line + "                    " + title + "\n Device         : mlx5_0\n GID index       : 3\n" + line
	size, took := l.number("size", 65536), e.Answers.Seconds()*1e6
	switch {
	case e.Fails != "":
		r.Stderr, r.Exit, r.Duration = e.Fails, 1, time.Second
	case strings.HasSuffix(l.Program, "_lat"):
		r.Stdout = head + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    " +
			"t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n" +
			fmt.Sprintf(" %.0f       %.0f          %.2f        %.2f      %.2f  	       %.2f     "+
				"	1.00		%.2f 		%.2f\n", size, l.number("iters", 1000), took/2, 2*took, took,
				took, took, took) + line
	default:
		r.Stdout = head + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n" +
			fmt.Sprintf(" %.0f       %.0f              0.00               %.2f   		   %.6f\n", size,
				e.Rate*takes.Seconds(), e.Rate*size/(1<<20), e.Rate/1e6) + line
	}
	return r
}
