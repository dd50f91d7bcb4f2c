// Package audit lets anybody check the audit log. Its lines are a chain for each
// thread (memory.AuditLine). A chain alone can't show that its end was cut off, or
// that all of it was rewritten. So from time to time a checkpoint signs the ends of
// all chains with the key of the installation.
//
// It knows no store: it reads lines, and names their faults.
package audit

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nod/memory"
)

// Checkpoint signs the ends of all chains at one time. That of an export lists them all;
// that of a store names the most by their pieces.
type Checkpoint struct {
	Event string                 `json:"event"` // "checkpoint"
	At    time.Time              `json:"at"`
	Epoch int                    `json:"epoch"` // grows each time the store is found to be older
	Heads map[string]memory.Head `json:"heads"` // by thread; they are later than those of Ends
	// In a store only: the number of the checkpoint, its earlier ends, the place in the
	// log behind which no line is signed, and the hash of the checkpoint before.
	N    uint64  `json:"n,omitempty"`
	Ends []Piece `json:"ends,omitempty"`
	Mark string  `json:"mark,omitempty"`
	Prev string  `json:"prev,omitempty"`
	// In an export only: SHA-256 of its first line, and of the lines between.
	Header string `json:"header,omitempty"`
	Lines  string `json:"lines,omitempty"`
	Sig    string `json:"sig,omitempty"` // hex Ed25519 of the RFC 8785 form without sig
}

// Sign signs a checkpoint, and gives its stored form.
func Sign(c Checkpoint, key ed25519.PrivateKey) ([]byte, error) {
	c.Event, c.Sig = "checkpoint", ""
	c.At = c.At.UTC().Truncate(time.Millisecond)
	plain, err := form(c)
	if err != nil {
		return nil, err
	}
	c.Sig = hex.EncodeToString(ed25519.Sign(key, plain))
	return form(c)
}

func form(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = memory.Canonical(raw)
	}
	return raw, memory.Doing("write a checkpoint", err)
}

// ReadCheckpoint reads the output of Sign. signed says that the key's owner signed
// exactly that.
func ReadCheckpoint(raw []byte, key ed25519.PublicKey) (c Checkpoint, signed bool, err error) {
	if err := json.Unmarshal(raw, &c); err != nil || c.Event != "checkpoint" {
		return c, false, errors.New("read a checkpoint: it is none")
	}
	same, err := form(c)
	if err != nil || string(same) != string(raw) {
		return c, false, err //nolint:nilerr // it is one, and nobody signed it so
	}
	sig, err := hex.DecodeString(c.Sig)
	if err != nil || hex.EncodeToString(sig) != c.Sig {
		return c, false, nil //nolint:nilerr // likewise
	}
	c.Sig = ""
	plain, err := form(c)
	return c, err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, plain, sig), err
}

// Key reads the signing key in a file, 64 hex digits of seed, and makes it if there is
// none.
func Key(path string) (ed25519.PrivateKey, error) {
	key, err := FindKey(path)
	if err == nil && key == nil {
		return makeKey(path)
	}
	return key, err
}

// FindKey reads the key in a file; nil if there is none.
func FindKey(path string) (ed25519.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a key: %w", err)
	}
	return parseKey(path, raw)
}

func parseKey(path string, raw []byte) (ed25519.PrivateKey, error) {
	seed, err := hex.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("read a key: %s holds no key (64 hex digits)", path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// makeKey makes a key that only its owner can read. If two processes start at once, one
// makes it.
func makeKey(path string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	temp, err := writeBeside(path, []byte(hex.EncodeToString(key.Seed())+"\n"))
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	err = os.Link(temp, path) // whole, or not at all, and never over another one
	_ = os.Remove(temp)
	if errors.Is(err, fs.ErrExist) {
		return Key(path)
	}
	return key, memory.Doing("make a key", err)
}

// writeBeside writes a file beside another one, for its owner only.
func writeBeside(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// PublicHex is how people write a key down.
func PublicHex(key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey)
	return hex.EncodeToString(public)
}

// ParsePublic reads the output of PublicHex.
func ParsePublic(text string) (ed25519.PublicKey, error) {
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%q is no key: it has 64 hex digits", text)
	}
	return raw, nil
}
