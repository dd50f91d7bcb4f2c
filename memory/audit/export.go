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
	"slices"
	"time"

	"nod/chat"
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
// are. With names each line also has the people whom it names, and the text of its
// reason; what is signed lacks both.
func Export(ctx context.Context, w io.Writer, s Log, o ExportOptions) error {
	h := Header{Event: "header", V: 1, Key: PublicHex(o.Key), Since: o.Since}
	if !o.Since.IsZero() {
		h.Since = o.Since.UTC().Truncate(time.Millisecond)
		var err error
		if h.From, err = startsAt(ctx, s, h.Since); err != nil {
			return err
		}
	}
	first, err := form(h)
	if err != nil {
		return err
	}
	out := newDigested(w)
	out.line(first)
	top := out.digest()
	out.sum.Reset()
	heads, err := exportLines(ctx, out, s, h, o.Names)
	if err != nil {
		return err
	}
	epoch := 1
	if raw, err := s.Noted(ctx, note); err == nil && len(raw) > 0 {
		if p, _, err := ReadCheckpoint(raw, nil); err == nil {
			epoch = p.Epoch
		}
	}
	last, err := Sign(Checkpoint{At: o.Now, Epoch: epoch, Heads: heads, Header: top, Lines: out.digest()}, o.Key)
	if err != nil {
		return err
	}
	out.line(last)
	return memory.Doing("write the export", out.end())
}

// exportLines writes the lines behind a header, and gives the chains' ends behind them.
func exportLines(ctx context.Context, out *digested, s Log, h Header, withNames bool) (map[string]memory.Head, error) {
	var names memory.Names
	if withNames {
		var err error
		if names, err = memory.NamesOf(ctx, s); err != nil {
			return nil, err
		}
	}
	heads := maps.Clone(h.From)
	if heads == nil {
		heads = map[string]memory.Head{}
	}
	for k, err := range s.Lines(ctx) {
		var l memory.AuditLine
		if err == nil {
			l, err = memory.DecodeLine(k.Raw)
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		thread := l.Thread.String()
		if l.Seq <= heads[thread].Seq {
			continue
		}
		heads[thread] = memory.Head{Seq: l.Seq, Hash: l.Hash}
		if withNames {
			out.decorated(k.Raw, named(k, l, names))
		} else {
			out.line(k.Raw)
		}
	}
	return heads, nil
}

// ExportOptions say what is exported, and who signs it.
type ExportOptions struct {
	Key   ed25519.PrivateKey
	Since time.Time // zero: all
	Now   time.Time
	Names bool
}

// named gives a line with the members that no hash covers.
func named(k memory.KeptLine, l memory.AuditLine, names memory.Names) []byte {
	people := names.Of(l)
	resolved, _ := names.Resolve(k) // it was read before
	if len(people) == 0 && resolved.Reason == "" {
		return k.Raw
	}
	more, err := json.Marshal(struct {
		People map[chat.UserID]string `json:"people,omitempty"`
		Text   string                 `json:"text,omitempty"`
	}{people, resolved.Reason})
	if err != nil {
		return k.Raw
	}
	return slices.Concat(bytes.TrimSuffix(k.Raw, []byte("}")), []byte(","), more[1:])
}

// unnamed gives a line in its hashed form without the members that no hash covers.
func unnamed(form []byte) []byte {
	var line map[string]json.RawMessage
	if json.Unmarshal(form, &line) != nil || line["people"] == nil && line["text"] == nil {
		return form
	}
	delete(line, "people")
	delete(line, "text")
	out, err := json.Marshal(line)
	if err == nil {
		out, err = memory.Canonical(out)
	}
	if err != nil {
		return form
	}
	return out
}

// startsAt gives the chains' ends before the first line since a time.
func startsAt(ctx context.Context, s memory.Auditor, since time.Time) (map[string]memory.Head, error) {
	from, begun := map[string]memory.Head{}, map[string]bool{}
	for k, err := range s.Lines(ctx) {
		var l memory.AuditLine
		if err == nil {
			l, err = memory.DecodeLine(k.Raw)
		}
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

// digested writes lines and computes a digest of them. Reset of sum begins a new one.
type digested struct {
	w   *bufio.Writer
	sum hash.Hash
	err error
}

func newDigested(w io.Writer) *digested { return &digested{w: bufio.NewWriter(w), sum: sha256.New()} }

func (d *digested) line(raw []byte) { d.decorated(raw, raw) }

// decorated writes another form of a line than the digest is of.
func (d *digested) decorated(raw, form []byte) {
	_, err := d.w.Write(append(form[:len(form):len(form)], '\n'))
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
	body := newDigested(io.Discard)
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
	if hashOf(append(slices.Clip(head), '\n')) != p.Header {
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
	form, err := memory.Canonical(raw)
	if err != nil {
		return raw
	}
	return unnamed(form)
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
