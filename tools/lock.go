package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A lock file holds what somebody accepted of one kind: mcp or skills.

// LockPath gives the place of the lock file of a configuration: beside it, as
// nod.mcp.lock is beside nod.yaml.
func LockPath(config, kind string) string {
	return strings.TrimSuffix(config, filepath.Ext(config)) + "." + kind + ".lock"
}

// ReadLock reads a lock file; ok is false where there is none. One that can't be read is
// an error: to take it for none would forget what was accepted.
func ReadLock(path string, lock any) (ok bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(lock)
	}
	if err != nil {
		kind := filepath.Ext(strings.TrimSuffix(path, ".lock"))
		return false, fmt.Errorf("read %s: %w; restore the file, or remove it and run bot check --accept-%s", path, err, strings.TrimPrefix(kind, "."))
	}
	return true, nil
}

// WriteLock writes the file, whole or not at all.
func WriteLock(path string, lock any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(lock); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".lock-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(text.Bytes())
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
