package storage

import (
	"net"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// CollectISCSI describes the sessions of the iSCSI initiator. Source: the kernel's drivers/scsi/scsi_transport_iscsi.c.
//
//	/sys/class/iscsi_session/session1/targetname:               iqn.2003-01.org.example:storage
//	/sys/class/iscsi_session/session1/first_burst_len:          262144
//	/sys/class/iscsi_connection/connection1:0/header_digest:    0
func CollectISCSI(r collect.Reader, _ collect.Scope) []lab.Fact {
	const sessions, connections = "/sys/class/iscsi_session", "/sys/class/iscsi_connection"
	names := r.Names(sessions)
	if len(names) == 0 {
		return nil
	}
	// A session has one connection: Linux does not do more.
	connection := map[string]string{}
	for _, c := range r.Names(connections) {
		session, _, _ := strings.Cut(strings.TrimPrefix(c, "connection"), ":")
		if _, there := connection["session"+session]; !there {
			connection["session"+session] = connections + "/" + c
		}
	}
	disks := map[string][]string{}
	for _, name := range r.Names(Class("")) {
		full := r.Linked(Class(name))
		session := partOf(full, iscsiSession())
		if session != "" && path.Base(path.Dir(full)) == "block" {
			disks[session] = append(disks[session], name)
		}
	}
	return collect.Spread(len(names), func(i int) []lab.Fact {
		name := names[i]
		dir := sessions + "/" + name
		conn := connection[name]
		if conn == "" {
			conn = connections + "/" + strings.Replace(name, "session", "connection", 1) + ":0"
		}
		// Its host takes as many commands as the session may have open, without those that manage it.
		host := partOf(r.Linked(dir), scsiHost())
		depth := collect.Unknown("iscsi.queue_depth", Class("*")+"/device/queue_depth", "the session has no disks")
		if len(disks[name]) > 0 {
			depth = r.Fact("iscsi.queue_depth", Class(disks[name][0])+"/device/queue_depth")
		}
		return collect.About(name, []lab.Fact{
			r.Fact("iscsi.state", dir+"/state"),
			r.Fact("iscsi.target", dir+"/targetname"),
			portal(r, conn),
			collect.ListOf("iscsi.disks", disks[name], "/sys/class/block"),
			depth,
			r.Fact("iscsi.cmds_max", "/sys/class/scsi_host/"+host+"/can_queue"),
			r.Fact("iscsi.initial_r2t", dir+"/initial_r2t"),
			r.Fact("iscsi.immediate_data", dir+"/immediate_data"),
			r.Fact("iscsi.first_burst", dir+"/first_burst_len"),
			r.Fact("iscsi.max_burst", dir+"/max_burst_len"),
			r.Fact("iscsi.max_segment", conn+"/max_recv_dlength"),
			r.Fact("iscsi.header_digest", conn+"/header_digest"),
			r.Fact("iscsi.data_digest", conn+"/data_digest"),
		}...)
	})
}

// portal is the address that the session is connected to, or, while it is not, the one that it was set up with.
func portal(r collect.Reader, conn string) lab.Fact {
	const key = "iscsi.portal"
	for _, prefix := range []string{"/", "/persistent_"} {
		address, err := r.Text(conn + prefix + "address")
		port, err2 := r.Text(conn + prefix + "port")
		if err == nil && err2 == nil && address != "" && address != "(null)" {
			return collect.Known(key, net.JoinHostPort(address, port), conn+prefix+"address")
		}
	}
	return r.Fact(key, conn+"/address")
}
