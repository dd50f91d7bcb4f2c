package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// Store is the part of a store that a Keeper writes to.
type Store interface {
	Log
	Note(ctx context.Context, name string, value []byte) error
	Swap(ctx context.Context, name string, old, value []byte) (done bool, err error)
	Put(ctx context.Context, thread chat.ThreadID, body memory.Body, eventIDs ...string) (fresh bool, err error)
}

// Keeper signs checkpoints while the service runs, and notices that the store came back
// older than one. Then each thread that lost lines gets a line that says so. It keeps
// the newest checkpoint in the store and also in a file beside the key, since the store
// may come back older.
type Keeper struct {
	Store Store
	Key   ed25519.PrivateKey
	File  string // holds the newest checkpoint too; empty: only the store does
	Log   *slog.Logger
	Every time.Duration // 0: a minute
	Now   func() time.Time
	// Restored hears that the store came back older, from a copy of that time, and which
	// threads went further than their log. It comes before the next checkpoint; nil:
	// nobody does.
	Restored func(ctx context.Context, copied time.Time, threads []chat.ThreadID) error

	last  Checkpoint // the newest checkpoint that this process knows, and its stored form
	raw   []byte
	file  besideFile
	begun bool // Begin is over
}

// Beside names the file beside a key that holds the newest checkpoint.
func Beside(key string) string { return key + ".checkpoint" }

// Run signs until ctx is done, and once more then. It begins where Begin did not.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(k.Every, time.Minute))
	defer tick.Stop()
	if !k.begun {
		k.report(k.Begin(ctx))
	}
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			k.report(k.Sign(last))
			return
		case <-tick.C:
			k.report(k.Sign(ctx))
		}
	}
}

func (k *Keeper) report(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		k.Log.Warn("make a checkpoint of the audit log", "error", err)
	}
}

// Begin compares the store with the newest checkpoints, and makes a new one.
func (k *Keeper) Begin(ctx context.Context) error {
	if k.File != "" {
		var err error
		k.file, err = openBeside(k.File)
		k.report(err)
		if p, ok := k.read(k.file.newest); ok {
			k.last, k.raw = p, k.file.newest
		}
	}
	err := k.Sign(ctx)
	k.begun = err == nil
	return err
}

func (k *Keeper) read(raw []byte) (Checkpoint, bool) {
	if len(raw) == 0 {
		return Checkpoint{}, false
	}
	public, _ := k.Key.Public().(ed25519.PublicKey)
	p, signed, err := ReadCheckpoint(raw, public)
	if err != nil || !signed {
		k.Log.Error("newest checkpoint of the audit log has another key; all processes of a team need the same audit.key")
		return p, false
	}
	return p, true
}

// Sign makes a checkpoint, unless nothing was written since the last one. It reads the
// lines since then only, if the store has the last line that was signed: a store that
// came back older lacks its last lines.
func (k *Keeper) Sign(ctx context.Context) error {
	raw, err := k.Store.Noted(ctx, note)
	if err != nil {
		return fmt.Errorf("read the newest checkpoint: %w", err)
	}
	base := kept{raw: raw, Checkpoint: k.last}
	if !bytes.Equal(raw, k.raw) || len(raw) == 0 {
		var ok bool
		if base.Checkpoint, ok = k.read(raw); !ok || base.N < k.last.N {
			return k.signAll(ctx, base)
		}
		if k.last.Mark != "" { // another process signed: the store must have what was signed here too
			_, older, err := k.Store.Newer(ctx, k.last.Mark, func(memory.KeptLine) {})
			if err != nil {
				return fmt.Errorf("read the audit log: %w", err)
			}
			if older {
				return k.signAll(ctx, base)
			}
		}
	}
	return k.signNew(ctx, base)
}

// kept is the newest checkpoint in the store, and its stored form.
type kept struct {
	Checkpoint
	raw []byte
}

// signNew signs the ends behind the store's checkpoint.
func (k *Keeper) signNew(ctx context.Context, base kept) error {
	fresh := map[string]memory.Head{}
	mark, older, err := k.Store.Newer(ctx, base.Mark, func(l memory.KeptLine) {
		if line, err := memory.DecodeLine(l.Raw); err == nil {
			fresh[line.Thread.String()] = memory.Head{Seq: line.Seq, Hash: line.Hash}
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the audit log: %w", err)
	case older:
		return k.signAll(ctx, base)
	case len(fresh) == 0:
		k.last, k.raw = base.Checkpoint, base.raw
		return k.file.keep(ctx, base, fromStore(k.Store))
	}
	next := base.Checkpoint
	next.Mark = mark
	pieces, err := next.add(ctx, fromStore(k.Store), fresh)
	if errors.Is(err, errNoPiece) {
		return k.signAll(ctx, base)
	}
	if err != nil {
		return err
	}
	return k.sign(ctx, next, base, pieces)
}

// signAll compares the store with the known checkpoints, line by line, and signs the
// ends of all chains.
func (k *Keeper) signAll(ctx context.Context, base kept) error {
	mark, err := k.Store.Mark(ctx) // before the ends: later lines are signed once more
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	heads, err := k.Store.Heads(ctx)
	if err != nil {
		return err
	}
	next := Checkpoint{At: base.At, Epoch: max(k.last.Epoch, base.Epoch, 1), N: max(k.last.N, base.N), Mark: mark}
	var known []map[string]memory.Head
	for _, p := range []Checkpoint{k.last, base.Checkpoint} {
		signed, err := p.all(ctx, first(fromStore(k.Store), k.file.fetch))
		if errors.Is(err, errNoPiece) {
			k.report(err)
			signed = p.Heads
		} else if err != nil {
			return err
		}
		known = append(known, signed)
	}
	lost, err := k.diverged(ctx, known, heads)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		next.Epoch++
		if err := k.lose(ctx, next, heads, lost); err != nil {
			return err
		}
	}
	pieces, err := next.add(ctx, nil, heads)
	if err != nil {
		return err
	}
	return k.sign(ctx, next, base, pieces)
}

// sign signs a checkpoint and keeps it in the place of the one that the store has.
// Nothing happens if another process did so meanwhile.
func (k *Keeper) sign(ctx context.Context, p Checkpoint, base kept, pieces map[string][]byte) error {
	p.At, p.N = k.now(), p.N+1
	if p.Prev = ""; len(base.raw) > 0 {
		p.Prev = hashOf(base.raw)
	}
	raw, err := Sign(p, k.Key)
	if err != nil {
		return err
	}
	for hash, piece := range pieces {
		if err := k.Store.Note(ctx, pieceNote(hash), piece); err != nil {
			return fmt.Errorf("keep ends of the audit log: %w", err)
		}
	}
	done, err := k.Store.Swap(ctx, note, base.raw, raw)
	if err != nil {
		return fmt.Errorf("keep a checkpoint: %w", err)
	}
	if !done {
		return nil
	}
	k.last, k.raw = p, raw
	if err := k.file.keep(ctx, kept{p, raw}, fromStore(k.Store)); err != nil {
		return err
	}
	for _, old := range base.Ends {
		if slices.Contains(p.Ends, old) {
			continue
		}
		if err := k.Store.Note(ctx, pieceNote(old.Hash), nil); err != nil {
			return fmt.Errorf("erase ends of the audit log: %w", err)
		}
	}
	return nil
}

// diverged finds the threads whose chains differ from the signed ones, with their
// longest signed end.
func (k *Keeper) diverged(ctx context.Context, known []map[string]memory.Head, heads map[string]memory.Head) (map[string]memory.Head, error) {
	lost, open := map[string]memory.Head{}, map[string][]memory.Head{}
	for _, p := range known {
		for thread, h := range p {
			switch have := heads[thread]; {
			case have.Seq < h.Seq || have.Seq == h.Seq && have.Hash != h.Hash:
				lost[thread] = h
			case have != h:
				open[thread] = append(open[thread], h)
			}
		}
	}
	if len(open) == 0 {
		return lost, nil
	}
	for l, err := range k.Store.Lines(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		line, _ := memory.DecodeLine(l.Raw) // a damaged line has another hash
		for _, h := range open[line.Thread.String()] {
			if h.Seq == line.Seq && h.Hash != line.Hash {
				lost[line.Thread.String()] = h
			}
		}
	}
	return lost, nil
}

// lose writes a line for each thread that lost some. The first process to notice writes
// it, once.
func (k *Keeper) lose(ctx context.Context, next Checkpoint, heads, lost map[string]memory.Head) error {
	k.Log.Error("the store came back older: lines of the audit log are lost", "threads", len(lost), "epoch", next.Epoch)
	names, err := memory.NamesOf(ctx, k.Store)
	if err != nil {
		return err
	}
	var threads []chat.ThreadID
	for _, name := range sorted(lost) {
		thread, err := chat.ParseThreadID(name)
		if err != nil {
			continue
		}
		if thread = names.Thread(thread); memory.IsPseudonym(thread.Channel) {
			continue // nobody knows which conversation that was
		}
		body := memory.Lost{
			Reason: fmt.Sprintf("the store came back older: line %d of this thread was signed, and it had %d then", lost[name].Seq, heads[name].Seq),
			Own:    !k.begun, Lines: lost[name].Seq,
		}
		if _, err := k.Store.Put(ctx, thread, body, "lost/"+name+"/"+lost[name].Hash); err != nil {
			return fmt.Errorf("note what was lost: %w", err)
		}
		threads = append(threads, thread)
	}
	if k.Restored == nil || k.begun { // a running process restores what it knows
		return nil
	}
	return k.Restored(ctx, next.At, threads)
}

func (k *Keeper) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}

// ReadBeside reads the checkpoint in a file; nothing if there is none.
func ReadBeside(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return bytes.TrimSuffix(raw, []byte("\n")), memory.Doing("read the newest checkpoint", err)
}

// besideFile is the file beside the key. It grows by what changed, and is written anew
// when most of it is out of date.
type besideFile struct {
	path   string // empty: there is none
	newest []byte
	has    map[string]int // bytes of the newest checkpoint's pieces, by hash
	size   int
}

// spareBeside is how many bytes out of date the file may always hold.
const spareBeside = 1 << 20

func openBeside(path string) (b besideFile, err error) {
	raw, err := ReadBeside(path)
	found := parseBeside(raw)
	b = besideFile{path: path, newest: found.newest, has: map[string]int{}, size: len(raw)}
	for hash, piece := range found.pieces {
		b.has[hash] = len(piece)
	}
	return b, err
}

func (b *besideFile) fetch(ctx context.Context, hash string) ([]byte, error) {
	raw, err := ReadBeside(b.path)
	if err != nil {
		return nil, err
	}
	return parseBeside(raw).fetch(ctx, hash)
}

// keep appends a checkpoint, with the pieces that the file does not have.
func (b *besideFile) keep(ctx context.Context, p kept, f fetch) error {
	if b.path == "" || bytes.Equal(p.raw, b.newest) {
		return nil
	}
	has, live := map[string]int{}, len(p.raw)
	var more []byte
	for _, e := range p.Ends {
		n, ok := b.has[e.Hash]
		if !ok {
			piece, err := f(ctx, e.Hash)
			if err != nil {
				return err
			}
			n, more = len(piece), append(append(more, piece...), '\n')
		}
		has[e.Hash] = n
		live += n
	}
	more = append(append(more, p.raw...), '\n')
	info, err := os.Stat(b.path)
	if err != nil || info.Size() != int64(b.size) || b.size+len(more) > 2*live+spareBeside {
		more, err = b.replace(ctx, p, f)
		b.size = 0
	} else {
		err = appendBeside(b.path, more)
	}
	if err != nil {
		b.size = -1 // nobody knows what it holds
		return fmt.Errorf("keep a checkpoint beside the key: %w", err)
	}
	b.newest, b.has = p.raw, has
	b.size += len(more)
	return nil
}

// replace writes the file anew.
func (b *besideFile) replace(ctx context.Context, p kept, f fetch) (all []byte, err error) {
	for _, e := range p.Ends {
		piece, err := first(f, b.fetch)(ctx, e.Hash)
		if err != nil {
			return nil, err
		}
		all = append(append(all, piece...), '\n')
	}
	all = append(append(all, p.raw...), '\n')
	temp, err := writeBeside(b.path, all)
	if err == nil {
		err = os.Rename(temp, b.path)
	}
	return all, err
}

func appendBeside(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
