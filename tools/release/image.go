package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// image is what is written about an image.
type image struct {
	name, version, commit string
	made                  time.Time
}

// Types of the OCI image specification: https://github.com/opencontainers/image-spec/blob/v1.1.1/media-types.md
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// writeImage writes an image for several architectures as one file, which podman load, docker load (28 on), skopeo and
// ctr images import read. Each architecture is a layer of its folder's files, on one of its base where there is one.
func writeImage(i image, out string, folders []string) error {
	blobs := &blobs{}
	var manifests []descriptor
	for _, folder := range folders {
		m, err := i.manifest(blobs, folder)
		if err != nil {
			return err
		}
		manifests = append(manifests, m)
	}
	index := blobs.document(indexType, map[string]any{"schemaVersion": 2, "mediaType": indexType,
		"manifests": manifests, "annotations": i.annotations()})
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": i.version,
		"io.containerd.image.name": "localhost/" + i.name + ":" + i.version}
	return i.archive(blobs, index, out)
}

// manifest adds what one architecture's image consists of.
func (i image) manifest(b *blobs, folder string) (descriptor, error) {
	architecture := filepath.Base(folder)
	var layers []descriptor
	var plain []string // digests of the layers before they were compressed
	add := func(data []byte) error {
		packed, err := compressed(data)
		if err != nil {
			return err
		}
		layers = append(layers, b.add(layerType, packed))
		plain = append(plain, digest(data))
		return nil
	}
	base, err := os.ReadFile(folder + ".base.tar")
	if err == nil {
		err = add(base)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return descriptor{}, err
	}
	files, err := i.layer(folder)
	if err != nil {
		return descriptor{}, err
	}
	if err := add(files); err != nil {
		return descriptor{}, err
	}
	config := b.document(configType, map[string]any{
		"created": i.made.Format(time.RFC3339), "architecture": architecture, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/usr/bin/headroom"}, "Labels": i.annotations(),
			"Env": []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": plain},
	})
	m := b.document(manifestType, map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config,
		"layers": layers})
	m.Platform = &platform{architecture, "linux"}
	return m, nil
}

func (i image) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       i.name,
		"org.opencontainers.image.version":     i.version,
		"org.opencontainers.image.revision":    i.commit,
		"org.opencontainers.image.created":     i.made.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.description": "Measures the I/O of Linux machines, and says which numbers to trust",
	}
}

// layer packs the files of a folder: root owns them, and all of them have one time.
func (i image) layer(folder string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == folder {
			return err
		}
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: inside, ModTime: i.made, Format: tar.FormatPAX}
		switch {
		case info.IsDir():
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, inside+"/"
			return w.WriteHeader(h)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s: only files and folders are put into an image", name)
		}
		h.Typeflag, h.Mode, h.Size = tar.TypeReg, 0o644, info.Size()
		if info.Mode()&0o111 != 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	err = errors.Join(err, w.Close()) // which writes the end
	return out.Bytes(), err
}

// archive writes the layout of an image into one file.
func (i image) archive(b *blobs, index descriptor, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	w := tar.NewWriter(file)
	put := func(name string, data []byte) {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644,
			Size: int64(len(data)), ModTime: i.made, Format: tar.FormatPAX}))
		if err == nil {
			_, err = w.Write(data)
		}
	}
	put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	put("index.json", encode(map[string]any{"schemaVersion": 2, "mediaType": indexType,
		"manifests": []descriptor{index}}))
	for _, blob := range b.list {
		put("blobs/sha256/"+blob.hash, blob.data)
	}
	return errors.Join(err, w.Close(), file.Close())
}

// blobs are the contents of an image, in the order in which they were added.
type blobs struct{ list []blob }

type blob struct {
	hash string // its name in the layout
	data []byte
}

func (b *blobs) add(mediaType string, data []byte) descriptor {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if !slices.ContainsFunc(b.list, func(known blob) bool { return known.hash == hash }) {
		b.list = append(b.list, blob{hash, data})
	}
	return descriptor{MediaType: mediaType, Digest: "sha256:" + hash, Size: len(data)}
}

func (b *blobs) document(mediaType string, v any) descriptor { return b.add(mediaType, encode(v)) }

// encode writes JSON; what is written here always can be.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// compressed is gzip without a time or a name.
func compressed(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close()) // which writes the end
	return out.Bytes(), err
}
