package host

import "time"

// Within sets a limit on how long making a connection can take.
func (o SSHOptions) Within(limit time.Duration) SSHOptions {
	o.limit = limit
	return o
}

// ThroughTheShell makes files be read as on a host without SFTP.
func (s *SSH) ThroughTheShell() { s.plain = true }

// Master is the process of the shared connection; 0 without one.
func (s *SSH) Master() int {
	s.lock <- struct{}{}
	defer s.release()
	if s.link == nil {
		return 0
	}
	return s.link.Connection.(*sshConnection).cmd.Process.Pid
}
