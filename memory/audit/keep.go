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
	"maps"
	"os"
	"time"

	"nod/chat"
	"nod/memory"
)

// Store is the part of a store that a Keeper writes to.
type Store interface {
	Log
	Note(ctx context.Context, name string, value []byte) error
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

	last Checkpoint
}

// Beside names the file beside a key that holds the newest checkpoint.
func Beside(key string) string { return key + ".checkpoint" }

// Run signs until ctx is done, and once more then.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(k.Every, time.Minute))
	defer tick.Stop()
	k.report(k.Begin(ctx))
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

// Begin compares the store with the existing checkpoints, line by line, and makes a new
// one.
func (k *Keeper) Begin(ctx context.Context) error {
	kept, err := k.Store.Noted(ctx, note)
	if err != nil {
		return fmt.Errorf("read the newest checkpoint: %w", err)
	}
	var known []Checkpoint
	for _, raw := range [][]byte{kept, k.beside()} {
		if p, ok := k.read(raw); ok {
			known = append(known, p)
			k.last.Epoch = max(k.last.Epoch, p.Epoch)
		}
	}
	k.last.Epoch = cmp.Or(k.last.Epoch, 1)
	heads, err := headsOf(ctx, k.Store)
	if err != nil {
		return err
	}
	lost, err := k.diverged(ctx, known, heads)
	if err != nil {
		return err
	}
	return k.sign(ctx, heads, lost)
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

// diverged finds the threads whose chains differ from the signed ones, with their
// longest signed end.
func (k *Keeper) diverged(ctx context.Context, known []Checkpoint, heads map[string]memory.Head) (map[string]memory.Head, error) {
	lost, open := map[string]memory.Head{}, map[string][]memory.Head{}
	for _, p := range known {
		for thread, h := range p.Heads {
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

// Sign makes a checkpoint, unless nothing was written since the last one.
func (k *Keeper) Sign(ctx context.Context) error {
	heads, err := headsOf(ctx, k.Store)
	if err != nil {
		return err
	}
	if k.last.Sig != "" && maps.Equal(heads, k.last.Heads) {
		return nil
	}
	lost := map[string]memory.Head{}
	for thread, h := range k.last.Heads {
		if have := heads[thread]; have.Seq < h.Seq || have.Seq == h.Seq && have.Hash != h.Hash {
			lost[thread] = h
		}
	}
	return k.sign(ctx, heads, lost)
}

func (k *Keeper) sign(ctx context.Context, heads, lost map[string]memory.Head) error {
	p := Checkpoint{At: k.now(), Epoch: max(k.last.Epoch, 1), Heads: heads}
	if len(lost) > 0 {
		p.Epoch++
		if err := k.lose(ctx, p.Epoch, heads, lost); err != nil {
			return err
		}
	}
	raw, err := Sign(p, k.Key)
	if err != nil {
		return err
	}
	if err := k.Store.Note(ctx, note, raw); err != nil {
		return fmt.Errorf("keep a checkpoint: %w", err)
	}
	p.Sig = "it is signed"
	k.last = p
	return k.keep(raw)
}

// lose writes a line for each thread that lost some. The first process to notice writes
// it, once.
func (k *Keeper) lose(ctx context.Context, epoch int, heads, lost map[string]memory.Head) error {
	k.Log.Error("the store came back older: lines of the audit log are lost", "threads", len(lost), "epoch", epoch)
	for _, name := range sorted(lost) {
		thread, err := chat.ParseThreadID(name)
		if err != nil {
			continue
		}
		body := memory.Lost{Reason: fmt.Sprintf("the store came back older: line %d of this thread was signed, and it had %d then", lost[name].Seq, heads[name].Seq)}
		if _, err := k.Store.Put(ctx, thread, body, "lost/"+name+"/"+lost[name].Hash); err != nil {
			return fmt.Errorf("note what was lost: %w", err)
		}
	}
	return nil
}

func (k *Keeper) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}

func (k *Keeper) beside() []byte {
	if k.File == "" {
		return nil
	}
	raw, err := ReadBeside(k.File)
	k.report(err)
	return raw
}

// ReadBeside reads the checkpoint in a file; nothing if there is none.
func ReadBeside(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the newest checkpoint: %w", err)
	}
	return bytes.TrimSuffix(raw, []byte("\n")), nil
}

func (k *Keeper) keep(raw []byte) error {
	if k.File == "" {
		return nil
	}
	temp, err := writeBeside(k.File, append(raw, '\n'))
	if err == nil {
		err = os.Rename(temp, k.File)
	}
	if err != nil {
		return fmt.Errorf("keep a checkpoint beside the key: %w", err)
	}
	return nil
}
