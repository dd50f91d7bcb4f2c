package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"time"

	"nod/memory"
)

// Header is the first line of an export.
type Header struct {
	Event string                 `json:"event"` // "header"
	V     int                    `json:"v"`
	Key   string                 `json:"key"`            // hex, of the signer
	Since time.Time              `json:"since,omitzero"` // the export begins there
	From  map[string]memory.Head `json:"from,omitempty"` // with since: the chains' ends before the export
}

// Export writes the audit log since a time (zero: all) as JSON lines that can be
// checked anywhere: a header, the lines, and a checkpoint over all ends, which also
// binds the rest. The caller has checked the log before: Export signs the lines as they
// are.
func Export(ctx context.Context, w io.Writer, s Log, key ed25519.PrivateKey, since, now time.Time) error {
	h := Header{Event: "header", V: 1, Key: PublicHex(key), Since: since}
	if !since.IsZero() {
		h.Since = since.UTC().Truncate(time.Millisecond)
		var err error
		if h.From, err = startsAt(ctx, s, h.Since); err != nil {
			return err
		}
	}
	out := &digested{w: bufio.NewWriter(w)}
	first, err := form(h)
	if err != nil {
		return err
	}
	out.begin()
	out.line(first)
	top := out.digest()
	out.begin()
	heads := maps.Clone(h.From)
	if heads == nil {
		heads = map[string]memory.Head{}
	}
	for k, err := range s.Lines(ctx) {
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		l, err := memory.DecodeLine(k.Raw)
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if thread := l.Thread.String(); l.Seq > heads[thread].Seq {
			heads[thread] = memory.Head{Seq: l.Seq, Hash: l.Hash}
			out.line(k.Raw)
		}
	}
	epoch := 1
	if raw, err := s.Noted(ctx, note); err == nil && len(raw) > 0 {
		if p, _, err := ReadCheckpoint(raw, nil); err == nil {
			epoch = p.Epoch
		}
	}
	last, err := Sign(Checkpoint{At: now, Epoch: epoch, Heads: heads, Header: top, Lines: out.digest()}, key)
	if err != nil {
		return err
	}
	out.line(last)
	if err := out.end(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

// startsAt gives the chains' ends before the first line since a time.
func startsAt(ctx context.Context, s memory.Auditor, since time.Time) (map[string]memory.Head, error) {
	from, begun := map[string]memory.Head{}, map[string]bool{}
	for k, err := range s.Lines(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		l, err := memory.DecodeLine(k.Raw)
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		thread := l.Thread.String()
		if begun[thread] = begun[thread] || !l.At.Before(since); !begun[thread] {
			from[thread] = memory.Head{Seq: l.Seq, Hash: l.Hash}
		}
	}
	return from, nil
}

// digested writes lines and computes a digest of them.
type digested struct {
	w   *bufio.Writer
	sum hash.Hash
	err error
}

// begin begins a new digest.
func (d *digested) begin() { d.sum = sha256.New() }

func (d *digested) line(raw []byte) {
	_, err := d.w.Write(append(raw[:len(raw):len(raw)], '\n'))
	d.err = errors.Join(d.err, err)
	_, _ = d.sum.Write(append(raw[:len(raw):len(raw)], '\n')) // never fails
}

func (d *digested) digest() string { return hex.EncodeToString(d.sum.Sum(nil)) }

func (d *digested) end() error { return errors.Join(d.err, d.w.Flush()) }

// VerifyExport checks an export in any spelling of its JSON. With a key, it must be
// signed with that key. Without one, with the key that it names, which proves nothing
// about its author.
func VerifyExport(r io.ReadSeeker, key ed25519.PublicKey) (Report, error) {
	head, last, total, err := ends(r)
	if err != nil {
		return Report{}, err
	}
	c := newChecker(nil)
	if same, err := form(head); err != nil || head.Event != "header" || head.V != 1 || !bytes.Equal(same, head.raw) {
		c.fault("header", 0, Changed)
	}
	if key == nil {
		key, _ = ParsePublic(head.Key)
	} else if head.Key != hex.EncodeToString(key) {
		c.fault("header", 0, BadSignature)
	}
	point, signed, err := ReadCheckpoint(last, key)
	if err != nil {
		c.fault("checkpoint", 0, CutOff)
		last = nil
	} else if !signed {
		c.fault("checkpoint", 0, BadSignature)
	}
	c.from = head.From
	body := &digested{w: bufio.NewWriter(io.Discard)}
	body.begin()
	if err := lines(r, func(n int, raw []byte) {
		if n == 1 || n == total && last != nil { // the checkpoint's check is its signature
			return
		}
		c.line(raw, "")
		body.line(raw)
	}); err != nil {
		return Report{}, err
	}
	c.end()
	if last != nil {
		c.bound(point, head.raw, body.digest())
	}
	out := c.report()
	out.Key = hex.EncodeToString(key)
	return out, nil
}

// bound reports differences from the checkpoint of an export.
func (c *checker) bound(p Checkpoint, head []byte, body string) {
	c.exactly(p.Heads)
	top := &digested{w: bufio.NewWriter(io.Discard)}
	top.begin()
	if top.line(head); top.digest() != p.Header {
		c.fault("header", 0, Changed)
	}
	if len(c.faults) == 0 && body != p.Lines {
		c.fault("lines", 0, OutOfOrder) // those of different threads
	}
}

type header struct {
	Header
	raw []byte
}

// ends reads the first and the last line, and counts them.
func ends(r io.ReadSeeker) (h header, last []byte, total int, err error) {
	err = lines(r, func(n int, raw []byte) {
		if total = n; n == 1 {
			h.raw = bytes.Clone(raw)
		} else {
			last = append(last[:0], raw...)
		}
	})
	if err == nil {
		_ = json.Unmarshal(h.raw, &h.Header) // its check reports a bad header
	}
	return h, last, total, err
}

// plain gives a line in its hashed form: an archive may write its JSON differently. A
// line without such a form stays as it is, and counts as none.
func plain(raw []byte) []byte {
	if form, err := memory.Canonical(raw); err == nil {
		return form
	}
	return raw
}

func lines(r io.ReadSeeker, f func(n int, raw []byte)) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the export: %w", err)
	}
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		raw, err := in.ReadBytes('\n') // a checkpoint names every thread, in one line
		if len(raw) > 0 {
			f(n, plain(bytes.TrimSuffix(raw, []byte("\n"))))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
	}
}
