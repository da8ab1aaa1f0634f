// Package scripted provides scripted machines: their files, the output of commands, the speed of loads, and which
// failures happen when. Tests of how runs are carried out use them as targets: nothing is started and nothing of this
// machine is read, so they pass on any machine, without root.
//
// A load takes its time by the clock, so such tests belong into a bubble of testing/synctest, where an hour takes a
// moment:
//
//	m := scripted.New("db1")
//	m.Fio = func(l *scripted.Load) scripted.IO {
//		io := scripted.Drive(l)
//		if l.Machine.Get("/proc/sys/vm/dirty_ratio") == "5" {
//			io.Write *= 0.7
//		}
//		return io
//	}
//	m.AtLoad("randread", 2, func(e *scripted.Event) { e.Result.Hangs = true })
//	t := m.Connect("scripted://db1")
//
// Anything that a test does not provide for is an error that names it: a command without a script, a missing program.
package scripted
