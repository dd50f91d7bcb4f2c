package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"nod/memory"
)

// Log is the part of a store that a check reads.
type Log interface {
	memory.Auditor
	Noted(ctx context.Context, name string) ([]byte, error)
}

// note is the name under which a store keeps its newest checkpoint.
const note = "audit/checkpoint"

// Newest reads a store's newest checkpoint; found is false where there is none. signed
// says that the key's owner signed it. No line is read.
func Newest(ctx context.Context, s Noter, key ed25519.PublicKey) (c Checkpoint, found, signed bool, err error) {
	raw, err := s.Noted(ctx, note)
	if err != nil {
		return c, false, false, fmt.Errorf("read the newest checkpoint: %w", err)
	}
	if len(raw) == 0 {
		return c, false, false, nil
	}
	c, signed, err = ReadCheckpoint(raw, key)
	return c, true, signed, err
}

// VerifyStore checks a store's audit log against its chains, its stored ends, its
// newest checkpoint, and the one beside the key (nil: none).
func VerifyStore(ctx context.Context, s Log, key ed25519.PublicKey, beside []byte) (Report, error) {
	points, faults, err := knownPoints(ctx, s, key, beside)
	if err != nil {
		return Report{}, err
	}
	heads, err := s.Heads(ctx)
	if err != nil {
		return Report{}, err
	}
	// A running service writes lines meanwhile. So the reading must hold the ends from
	// before, and nothing behind the ends from afterwards.
	c := newChecker(nil, append(points, Checkpoint{Heads: heads})...)
	for _, what := range faults {
		c.fault("checkpoint", 0, what)
	}
	for l, err := range s.Lines(ctx) {
		if err != nil {
			return Report{}, fmt.Errorf("read the audit log: %w", err)
		}
		c.line(l.Raw, l.Thread)
	}
	c.end()
	if heads, err = s.Heads(ctx); err != nil {
		return Report{}, err
	}
	c.within(heads)
	r := c.report()
	r.Key = hex.EncodeToString(key)
	return r, nil
}

// knownPoints gives the newest checkpoints of a store and beside its key, with all their
// ends, and names the faults of the checkpoints themselves.
func knownPoints(ctx context.Context, s Log, key ed25519.PublicKey, besides []byte) (points []Checkpoint, faults []string, err error) {
	b := parseBeside(besides)
	kept, err := s.Noted(ctx, note)
	if err != nil {
		return nil, nil, fmt.Errorf("read the newest checkpoint: %w", err)
	}
	if len(kept) == 0 && len(b.newest) > 0 {
		faults = append(faults, Missing)
	}
	if len(besides) > 0 && len(b.newest) == 0 {
		faults = append(faults, BadSignature)
	}
	for _, raw := range [][]byte{kept, b.newest} {
		if len(raw) == 0 {
			continue
		}
		p, signed, err := ReadCheckpoint(raw, key)
		if !signed {
			faults = append(faults, BadSignature)
		}
		if err != nil {
			continue
		}
		heads, err := p.all(ctx, first(fromStore(s), b.fetch))
		switch {
		case errors.Is(err, errNoPiece):
			if again, err := s.Noted(ctx, note); err == nil && !bytes.Equal(again, kept) {
				return knownPoints(ctx, s, key, besides) // the service replaced it meanwhile
			}
			faults = append(faults, Missing)
		case err != nil:
			return nil, nil, err
		default:
			p.Heads = heads
		}
		points = append(points, p)
	}
	return points, faults, nil
}

// sorted lists the threads of some heads.
func sorted(heads map[string]memory.Head) []string { return slices.Sorted(maps.Keys(heads)) }
