package fio

// hostOptions are the global options of one server.
type hostOptions struct {
	host    string
	options map[string]string
}

func takeHost(options map[string]string) hostOptions {
	h := hostOptions{host: hostPort(options["hostname"], options["port"]), options: options}
	delete(options, "hostname")
	delete(options, "port")
	return h
}

func hostPort(host, port string) string {
	if host == "" || port == "" {
		return host
	}
	return host + ":" + port
}

// spread distributes the global options of several servers: options that all share go to the document, the rest to the
// jobs of the server, below their own options.
func spread(doc *Document, hosts []hostOptions) {
	if len(hosts) == 0 {
		return
	}
	doc.Global = map[string]string{}
	for k, v := range hosts[0].options {
		shared := true
		for _, h := range hosts[1:] {
			other, ok := h.options[k]
			shared = shared && ok && other == v
		}
		if shared {
			doc.Global[k] = v
		}
	}
	for i := range doc.Jobs {
		job := &doc.Jobs[i]
		for _, h := range hosts {
			if h.host != job.Host {
				continue
			}
			for k, v := range h.options {
				if _, own := job.Options[k]; own || doc.Global[k] == v {
					continue
				}
				if job.Options == nil {
					job.Options = map[string]string{}
				}
				job.Options[k] = v
			}
		}
	}
}
