package scripted

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"
)

// Stream is the outcome of an iperf3 test.
type Stream struct {
	// Rate is bytes a second in each of its directions; Lost is the share of UDP that does not arrive.
	Rate, Lost  float64
	Retransmits int64
	RTT         time.Duration
	// ClientCPU and ServerCPU are shares of one processor.
	ClientCPU, ServerCPU float64
	// Over and At are the ports that its packets use at the client and at the server; empty for the ports of the
	// addresses.
	Over, At string
	// Fails is the error that iperf3 reports; empty for none.
	Fails string
}

// Wire is the 10 Gbit/s of server.txtar, and more within one machine. A test with its own rate keeps that rate.
func Wire(l *Load) Stream {
	s := Stream{Rate: 9.4e9 / 8, RTT: 200 * time.Microsecond, ClientCPU: 0.3, ServerCPU: 0.4}
	if l.Server == l.Machine {
		s.Rate, s.RTT = 40e9/8, 20*time.Microsecond
	}
	if limit := bytesOf(l.Params["bitrate"]); limit > 0 {
		s.Rate = min(s.Rate, limit/8)
	}
	return s
}

// iperf3 returns the outcome of a client or a server.
func (m *Machine) iperf3(l *Load) Result {
	port, _ := strconv.Atoi(l.Params["port"])
	if l.Params["server"] != "" {
		return Result{Hangs: true, Listens: port}
	}
	server := m
	if !m.owns(l.Params["client"]) {
		server = m.Network.at(l.Params["client"])
	}
	listener := server.listener(port)
	if listener == nil {
		text, _ := json.Marshal(map[string]any{"start": map[string]any{"version": "iperf 3.16"}, "intervals": []any{},
			"end": map[string]any{},
			"error": "unable to connect to server - server may have stopped running or use a different port, " +
				"firewall issue, etc.: Connection refused"})
		return Result{Stdout: string(text) + "\n", Exit: 1}
	}
	l.Server = server
	model := m.Stream
	if model == nil {
		model = Wire
	}
	s := model(l)
	s.Rate *= m.noise(l)
	takes, omit := durationOf(l.Params["time"]), durationOf(l.Params["omit"])
	if takes == 0 {
		takes = 10 * time.Second
	}
	r := Result{Duration: omit + takes, Stdout: l.test(s, takes, omit)}
	if s.Fails != "" {
		r.Exit = 1
	}
	r.Usage = []Use{m.used(l, s, false)}
	if server != m {
		listener.adds(server.used(l, s, true))
	}
	r.ended = func() {
		listener.machine.put(listener.dir+"/stdout", "{}\n")
		listener.end(0, "") // it serves one test
	}
	return r
}

// listener returns the process that listens on a port; nil if there is none.
func (m *Machine) listener(port int) *process {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.processes {
		if p.ended.IsZero() && p.result.Listens == port {
			return p
		}
	}
	return nil
}

// adds sets the resources that a process uses from now on. Until then it used none.
func (p *process) adds(u Use) {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	p.result.Usage, p.began = append(p.result.Usage, u), time.Now()
}

// used returns the traffic of a test at one end.
func (m *Machine) used(l *Load, s Stream, atServer bool) Use {
	const payload, packet = 1448, 1514
	wire, packets := s.Rate*packet/payload, s.Rate/payload
	u := Use{Port: cmp.Or(s.Over, m.portTo(l.Params["client"]).name), CPU: s.ClientCPU}
	out := l.Params["reverse"] == "" || l.Params["bidir"] != ""
	in := l.Params["reverse"] != "" || l.Params["bidir"] != ""
	if atServer {
		out, in, u.CPU, u.Port = in, out, s.ServerCPU, cmp.Or(s.At, m.portTo(l.Params["client"]).name)
	}
	if l.Server == l.Machine { // a loopback's packets are as large as its MTU
		u.Port, out, in = "lo", true, true
		wire, packets = s.Rate*1.002, s.Rate/65483
		if l.Params["bidir"] != "" {
			wire, packets = 2*wire, 2*packets
		}
	}
	if out {
		u.Sent, u.PacketOut = wire, packets
	}
	if in {
		u.Received, u.PacketsIn = wire, packets
	}
	return u
}

// test returns the output of iperf3 3.16 with --json.
func (l *Load) test(s Stream, takes, omit time.Duration) string {
	port, _ := strconv.Atoi(l.Params["port"])
	udp := l.Params["udp"] != ""
	flag := func(name string) int {
		if l.Params[name] != "" {
			return 1
		}
		return 0
	}
	sum := func(from, to float64, sender bool) map[string]any {
		v := map[string]any{"start": from, "end": to, "seconds": to - from, "bytes": int64(s.Rate * (to - from)),
			"bits_per_second": 8 * s.Rate, "sender": sender}
		switch {
		case udp:
			packets := s.Rate * (to - from) / 1448
			v["jitter_ms"], v["lost_packets"], v["packets"], v["lost_percent"] = 0.01, int64(packets*s.Lost),
				int64(packets), 100*s.Lost
			if !sender {
				v["bytes"] = int64(s.Rate * (1 - s.Lost) * (to - from))
			}
		case sender:
			v["retransmits"] = s.Retransmits
		}
		return v
	}
	var intervals []any
	step := 1.0
	if v := l.number("interval", 0); v > 0 {
		step = v
	}
	add := func(until float64, omitted bool) {
		for i := range int(until/step + 1e-9) {
			part := sum(float64(i)*step, float64(i+1)*step, l.Params["reverse"] == "")
			part["omitted"] = omitted
			delete(part, "retransmits")
			interval := map[string]any{"streams": []any{}, "sum": part}
			if l.Params["bidir"] != "" {
				other := sum(float64(i)*step, float64(i+1)*step, false)
				other["omitted"] = omitted
				interval["sum_bidir_reverse"] = other
			}
			intervals = append(intervals, interval)
		}
	}
	add(omit.Seconds(), true)
	add(takes.Seconds(), false)
	protocol := "TCP"
	if udp {
		protocol = "UDP"
	}
	end := map[string]any{
		"streams":  []any{map[string]any{"sender": map[string]any{"mean_rtt": s.RTT.Microseconds(), "sender": true}}},
		"sum_sent": sum(0, takes.Seconds(), true), "sum_received": sum(0, takes.Seconds(), false),
		"cpu_utilization_percent": map[string]any{"host_total": 100 * s.ClientCPU, "remote_total": 100 * s.ServerCPU},
		"sender_tcp_congestion":   "cubic", "receiver_tcp_congestion": "cubic"}
	if udp {
		end["sum"] = sum(0, takes.Seconds(), false)
	}
	if l.Params["bidir"] != "" {
		end["sum_sent_bidir_reverse"], end["sum_received_bidir_reverse"] = sum(0, takes.Seconds(), true),
			sum(0, takes.Seconds(), false)
	}
	document := map[string]any{
		"start": map[string]any{"version": "iperf 3.16",
			"connected": []any{map[string]any{"socket": 5, "local_host": l.Machine.Address, "local_port": 40000,
				"remote_host": l.Params["client"], "remote_port": port}},
			"timestamp": map[string]any{"timesecs": time.Now().Unix(), "timemillisecs": time.Now().UnixMilli()},
			"test_start": map[string]any{"protocol": protocol, "num_streams": int(l.number("parallel", 1)),
				"blksize": 131072, "omit": omit.Seconds(), "duration": takes.Seconds(),
				"reverse": flag("reverse"), "target_bitrate": bytesOf(l.Params["bitrate"])}},
		"intervals": intervals, "end": end}
	if s.Fails != "" {
		document["error"], document["end"] = s.Fails, map[string]any{}
	}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // made of maps, numbers and strings
	}
	return string(text) + "\n"
}
