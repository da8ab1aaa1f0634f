// Package scripted is machines that are written down: their files, what commands print there, how fast loads are, what
// fails and when. Tests of how runs are carried out take them for targets: nothing is started and nothing of this
// machine is read, so that they pass on any machine, without root.
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
// Whatever a test does not foresee is an error that names it: a command that is not written down, a program that is not
// there.
package scripted
