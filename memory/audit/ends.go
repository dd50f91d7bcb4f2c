package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"nod/memory"
)

// A checkpoint must cost what changed since the last one. So it holds only the latest
// ends, and the hashes of pieces with all earlier ones. A full checkpoint becomes a
// piece, and a piece that is not larger than half of the next one is merged with it. So
// there are few pieces, and an end is written anew only when their number doubles.

// Piece names the ends of some chains by the hash of their stored form.
type Piece struct {
	N    int    `json:"n"`
	Hash string `json:"hash"`
}

// mostLatest is the number of ends that a checkpoint itself holds.
const mostLatest = 50

// signedEnds is the stored form of a piece.
type signedEnds struct {
	Event string                 `json:"event"` // "ends"
	Heads map[string]memory.Head `json:"heads"`
}

func makePiece(heads map[string]memory.Head) (Piece, []byte, error) {
	raw, err := form(signedEnds{"ends", heads})
	return Piece{len(heads), hashOf(raw)}, raw, err
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func pieceNote(hash string) string { return "audit/ends/" + hash }

// errNoPiece is returned for a piece that is missing or changed.
var errNoPiece = errors.New("ends of the audit log that a checkpoint signed are not there")

// readPiece reads a piece's stored form.
func readPiece(hash string, raw []byte) (map[string]memory.Head, error) {
	var e signedEnds
	if hashOf(raw) != hash || json.Unmarshal(raw, &e) != nil {
		return nil, errNoPiece
	}
	return e.Heads, nil
}

// fetch gives the stored form of a piece.
type fetch func(ctx context.Context, hash string) ([]byte, error)

func fromStore(s Noter) fetch {
	return func(ctx context.Context, hash string) ([]byte, error) {
		raw, err := s.Noted(ctx, pieceNote(hash))
		return raw, memory.Doing("read ends of the audit log", err)
	}
}

// all gives every end that a checkpoint signed.
func (c Checkpoint) all(ctx context.Context, f fetch) (map[string]memory.Head, error) {
	out := map[string]memory.Head{}
	for _, p := range c.Ends {
		raw, err := f(ctx, p.Hash)
		if err != nil {
			return nil, err
		}
		heads, err := readPiece(p.Hash, raw)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, heads)
	}
	maps.Copy(out, c.Heads)
	return out, nil
}

// add adds ends to a checkpoint. It returns the new pieces by hash.
func (c *Checkpoint) add(ctx context.Context, f fetch, heads map[string]memory.Head) (map[string][]byte, error) {
	latest := maps.Clone(c.Heads)
	if latest == nil {
		latest = map[string]memory.Head{}
	}
	maps.Copy(latest, heads)
	c.Heads, c.Ends = latest, slices.Clone(c.Ends)
	if len(latest) <= mostLatest {
		return nil, nil
	}
	for len(c.Ends) > 0 && c.Ends[len(c.Ends)-1].N <= 2*len(latest) {
		last := c.Ends[len(c.Ends)-1]
		raw, err := f(ctx, last.Hash)
		if err != nil {
			return nil, err
		}
		older, err := readPiece(last.Hash, raw)
		if err != nil {
			return nil, err
		}
		maps.Copy(older, latest)
		latest, c.Ends = older, c.Ends[:len(c.Ends)-1]
	}
	p, raw, err := makePiece(latest)
	c.Heads, c.Ends = map[string]memory.Head{}, append(c.Ends, p)
	return map[string][]byte{p.Hash: raw}, err
}

// beside is the content of the file beside the key: pieces and checkpoints, a line
// each. The last checkpoint counts.
type beside struct {
	newest []byte
	pieces map[string][]byte // by hash
}

func parseBeside(raw []byte) beside {
	b := beside{pieces: map[string][]byte{}}
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		if bytes.HasPrefix(line, []byte(`{"event":"ends"`)) {
			b.pieces[hashOf(line)] = line
		} else if _, _, err := ReadCheckpoint(line, nil); err == nil {
			b.newest = line // a line that a crash cut off is none
		}
	}
	return b
}

func (b beside) fetch(_ context.Context, hash string) ([]byte, error) { return b.pieces[hash], nil }

// first tries one source of pieces after the other.
func first(sources ...fetch) fetch {
	return func(ctx context.Context, hash string) (raw []byte, err error) {
		for _, f := range sources {
			found, e := f(ctx, hash)
			if e == nil && hashOf(found) == hash {
				return found, nil
			}
			err = cmp.Or(err, e)
		}
		return nil, err
	}
}
