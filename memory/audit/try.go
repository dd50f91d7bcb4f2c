package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Noter is the part of a store that Try reads.
type Noter interface {
	Noted(ctx context.Context, name string) ([]byte, error)
}

// Try says whether the key in a file can go on signing a store's log, and changes
// nothing; s is nil without a store. A missing key is right if nothing was signed so
// far, since a start makes it. It is wrong if another key signed, such as another
// process's.
func Try(ctx context.Context, path string, s Noter) (found string, err error) {
	points, err := signed(ctx, path, s)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(points) > 0:
		return "", fmt.Errorf("%s is not there, and this log was signed with a key; put that one there, as a start would make another one", path)
	case errors.Is(err, fs.ErrNotExist):
		return path + " will be made at the first start", nil
	case err != nil:
		return "", fmt.Errorf("read the key of the audit log: %w", err)
	case info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("%s can be read by others than its owner (%v), and who has it can sign another history; chmod 600 it", path, info.Mode().Perm())
	}
	key, err := FindKey(path)
	if err != nil {
		return "", err
	}
	public, _ := key.Public().(ed25519.PublicKey)
	for where, raw := range points {
		if _, own, err := ReadCheckpoint(raw, public); err != nil || !own {
			return "", fmt.Errorf("the newest checkpoint %s is not signed with %s; all processes of a store need the same key", where, path)
		}
	}
	return path + ", key " + PublicHex(key), nil
}

// signed gives the newest checkpoints, by their place.
func signed(ctx context.Context, path string, s Noter) (map[string][]byte, error) {
	out := map[string][]byte{}
	if s != nil {
		raw, err := s.Noted(ctx, note)
		if err != nil {
			return nil, fmt.Errorf("read the newest checkpoint: %w", err)
		}
		if len(raw) > 0 {
			out["in the store"] = raw
		}
	}
	raw, err := ReadBeside(Beside(path))
	if newest := parseBeside(raw).newest; len(newest) > 0 {
		out["beside the key"] = newest
	}
	return out, err
}
