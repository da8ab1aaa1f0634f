package ingest

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-faster/jx"

	"github.com/headroom/headroom/internal/lab"
)

// kubestr reads the output of "kubestr fio -o json": a document of fio with the volume that it ran on. It begins like
// this:
//
//	{
//	  "size": "100Gi",
//	  "storageClass": {"metadata": {"name": "ssd-csi", …}, "provisioner": "disk.csi.example.com", …},
func kubestr() Importer {
	return Importer{
		Name:  "kubestr",
		Title: "kubestr's JSON",
		Units: "bw_bytes are bytes a second, bw KiB/s, as in fio's JSON",
		Sniff: func(_ string, head []byte) bool {
			return headHas(head, `"storageClass"`) && bytes.Contains(head, []byte(`"fioConfig"`))
		},
		read: readKubestr,
	}
}

// readKubestr reads one document after the other. kubestr prints progress lines before each.
func readKubestr(f file, d *runBuilder) error {
	begin := bytes.IndexByte(f.data, '{')
	if begin < 0 {
		return errors.New("expected a JSON object, found none")
	}
	for begin >= 0 {
		f.data = f.data[begin:]
		documents := json.NewDecoder(bytes.NewReader(f.data))
		one := f
		if documents.Decode(new(json.RawMessage)) == nil {
			one.data = f.data[:documents.InputOffset()]
		}
		if err := readKubestrDocument(one, d); err != nil {
			return err
		}
		f.data = f.data[len(one.data):]
		begin = bytes.IndexByte(f.data, '{')
	}
	return nil
}

func readKubestrDocument(f file, d *runBuilder) error {
	data := f.data
	var result jx.Raw
	var size, class, provisioner string
	err := jx.DecodeBytes(data).Obj(func(d *jx.Decoder, key string) error {
		switch key {
		case "size":
			return text(d, &size)
		case "storageClass":
			return object(d, func(d *jx.Decoder, key string) error {
				switch key {
				case "provisioner":
					return text(d, &provisioner)
				case "metadata":
					return object(d, func(d *jx.Decoder, key string) error {
						if key == "name" {
							return text(d, &class)
						}
						return d.Skip()
					})
				}
				return d.Skip()
			})
		case "result":
			var err error
			result, err = d.Raw()
			return err
		}
		return d.Skip()
	})
	if err != nil {
		return jsonFault(data, err)
	}
	if result == nil {
		return errors.New("expected a \"result\" with a document of fio, found none")
	}
	var facts []lab.Fact
	for _, fact := range []lab.Fact{
		{Key: "import.tool", Value: "kubestr"},
		{Key: "kubernetes.storage-class", Value: class},
		{Key: "kubernetes.provisioner", Value: provisioner},
		{Key: "kubernetes.volume-size", Value: size},
	} {
		if fact.Value != "" {
			fact.Source = f.name
			facts = append(facts, fact)
		}
	}
	f.data = result
	return readFio(f, d, func(m *measurement) { m.facts = append(m.facts, facts...) })
}
