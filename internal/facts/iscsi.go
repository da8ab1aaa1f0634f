package facts

import (
	"io/fs"
	"net"
	"path"
	"strings"

	"headroom/internal/lab"
)

// collectISCSI describes the sessions of the iSCSI initiator. Source: the kernel's drivers/scsi/scsi_transport_iscsi.c.
//
//	/sys/class/iscsi_session/session1/targetname:               iqn.2003-01.org.example:storage
//	/sys/class/iscsi_session/session1/first_burst_len:          262144
//	/sys/class/iscsi_connection/connection1:0/header_digest:    0
func collectISCSI(fsys fs.FS, _ Scope) []lab.Fact {
	r := reader{fsys}
	const sessions, connections = "/sys/class/iscsi_session", "/sys/class/iscsi_connection"
	names := r.names(sessions)
	if len(names) == 0 {
		return nil
	}
	// A session has one connection: Linux does not do more.
	connection := map[string]string{}
	for _, c := range r.names(connections) {
		session, _, _ := strings.Cut(strings.TrimPrefix(c, "connection"), ":")
		if _, there := connection["session"+session]; !there {
			connection["session"+session] = connections + "/" + c
		}
	}
	disks := map[string][]string{}
	for _, name := range r.names(class("")) {
		full := r.linked(class(name))
		session := partOf(full, iscsiSession)
		if session != "" && path.Base(path.Dir(full)) == "block" {
			disks[session] = append(disks[session], name)
		}
	}
	return spread(len(names), func(i int) []lab.Fact {
		name := names[i]
		dir := sessions + "/" + name
		conn := connection[name]
		if conn == "" {
			conn = connections + "/" + strings.Replace(name, "session", "connection", 1) + ":0"
		}
		// Its host takes as many commands as the session may have open, without those that manage it.
		host := partOf(r.linked(dir), scsiHost)
		depth := unknown("iscsi.queue_depth", class("*")+"/device/queue_depth", "the session has no disks")
		if len(disks[name]) > 0 {
			depth = r.fact("iscsi.queue_depth", class(disks[name][0])+"/device/queue_depth")
		}
		return about(name, []lab.Fact{
			r.fact("iscsi.state", dir+"/state"),
			r.fact("iscsi.target", dir+"/targetname"),
			portal(r, conn),
			listOf("iscsi.disks", disks[name], "/sys/class/block"),
			depth,
			r.fact("iscsi.cmds_max", "/sys/class/scsi_host/"+host+"/can_queue"),
			r.fact("iscsi.initial_r2t", dir+"/initial_r2t"),
			r.fact("iscsi.immediate_data", dir+"/immediate_data"),
			r.fact("iscsi.first_burst", dir+"/first_burst_len"),
			r.fact("iscsi.max_burst", dir+"/max_burst_len"),
			r.fact("iscsi.max_segment", conn+"/max_recv_dlength"),
			r.fact("iscsi.header_digest", conn+"/header_digest"),
			r.fact("iscsi.data_digest", conn+"/data_digest"),
		}...)
	})
}

// portal is the address that the session is connected to, or, while it is not, the one that it was set up with.
func portal(r reader, conn string) lab.Fact {
	const key = "iscsi.portal"
	for _, prefix := range []string{"/", "/persistent_"} {
		address, err := r.text(conn + prefix + "address")
		port, err2 := r.text(conn + prefix + "port")
		if err == nil && err2 == nil && address != "" && address != "(null)" {
			return known(key, net.JoinHostPort(address, port), conn+prefix+"address")
		}
	}
	return r.fact(key, conn+"/address")
}
