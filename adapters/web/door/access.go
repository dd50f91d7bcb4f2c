package door

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Notes keep a small value over restarts, and compare it before they replace it.
// A store of package memory is one.
type Notes interface {
	Noted(ctx context.Context, name string) ([]byte, error)
	Swap(ctx context.Context, name string, old, value []byte) (done bool, err error)
}

// NotePrefix begins the names of the notes that hold who has access to a page. They
// belong to one installation: a copy of the store must not hold them.
const NotePrefix = "page access "

// Access is who may open a page: links that were not used yet, and sessions of browsers.
// The notes hold hashes only, so a reader of the store can open nothing. Access is safe
// for concurrent use, also by several processes on the same notes.
type Access struct {
	Notes Notes
	Page  string        // which page; it follows NotePrefix
	Life  time.Duration // how long a link lives; zero: until it is used, or the next link is made
	Now   func() time.Time
}

// Limits of access.
const (
	LinkLife    = 10 * time.Minute
	sessionLife = 30 * 24 * time.Hour
	renewAfter  = time.Hour       // of use of one cookie
	onTheWay    = 5 * time.Second // requests of other tabs may still bear the cookie that was replaced
	mostLinks   = 20
	mostKnown   = 100 // sessions; then the oldest ends
	mostSwaps   = 100 // attempts while other processes write
)

// state is what the note holds.
type state struct {
	Links    []link    `json:"links,omitempty"`
	Sessions []session `json:"sessions,omitempty"`
}

type link struct {
	Hash  string    `json:"hash"`
	Until time.Time `json:"until,omitzero"`
}

// session is a browser that was let in. Its cookie is the session's id and a secret;
// the secret is replaced while it is used.
type session struct {
	ID     string    `json:"id"`     // hash
	Secret string    `json:"secret"` // hash
	Old    string    `json:"old,omitempty"`
	Used   bool      `json:"used,omitempty"` // the browser has shown Secret
	Since  time.Time `json:"since"`          // of Secret
	Until  time.Time `json:"until"`
}

// errBusy is returned when other processes write the note all the time.
var errBusy = errors.New("change who has access to the page: others change it at the same time")

// Link makes a key that opens the page once.
func (a *Access) Link(ctx context.Context) (key string, err error) {
	key = rand.Text()
	err = a.change(ctx, func(s *state) bool {
		l := link{Hash: hashOf(key)}
		if a.Life == 0 {
			s.Links = nil
		} else {
			l.Until = a.Now().Add(a.Life)
		}
		s.Links = newest(append(s.Links, l), mostLinks)
		return true
	})
	return key, err
}

// Revoke ends the access of every browser, and every link.
func (a *Access) Revoke(ctx context.Context) (sessions int, err error) {
	err = a.change(ctx, func(s *state) bool {
		sessions, *s = len(s.Sessions), state{}
		return true
	})
	return sessions, err
}

// open uses a key up; the cookie is empty where the key opens nothing.
func (a *Access) open(ctx context.Context, key string) (cookie string, err error) {
	err = a.change(ctx, func(s *state) bool {
		cookie = ""
		i := slices.IndexFunc(s.Links, func(l link) bool { return l.Hash == hashOf(key) })
		if i < 0 {
			return false
		}
		s.Links = slices.Delete(s.Links, i, i+1)
		id, secret := rand.Text(), rand.Text()
		cookie = id + "." + secret
		now := a.Now()
		s.Sessions = newest(append(s.Sessions, session{ID: hashOf(id), Secret: hashOf(secret), Since: now, Until: now.Add(sessionLife)}), mostKnown)
		return true
	})
	return cookie, err
}

// seen is a cookie as the page found it.
type seen struct {
	known bool
	ended bool          // its session is over, since somebody else has the cookie too
	fresh string        // the cookie that replaces it; empty: none
	left  time.Duration // until the session ends
}

// check says whether a cookie opens the page. A cookie that was replaced, or was made
// up for a session, ends that session: two browsers have it, and one has stolen it.
func (a *Access) check(ctx context.Context, cookie string) (out seen, err error) {
	id, secret, ok := strings.Cut(cookie, ".")
	if !ok {
		return seen{}, nil
	}
	err = a.change(ctx, func(s *state) (changed bool) {
		out = seen{}
		i := slices.IndexFunc(s.Sessions, func(k session) bool { return k.ID == hashOf(id) })
		if i < 0 {
			return false
		}
		known, changed, fresh := s.Sessions[i].meet(hashOf(secret), a.Now())
		if !known {
			out.ended, s.Sessions = true, slices.Delete(s.Sessions, i, i+1)
			return true
		}
		out = seen{known: true, left: s.Sessions[i].Until.Sub(a.Now())}
		if fresh != "" {
			out.fresh = id + "." + fresh
		}
		return changed
	})
	return out, err
}

// meet is a request of the session with a secret. While the browser has not shown the
// new secret, the answer that bore it may be lost, so the old one still counts.
func (k *session) meet(secret string, now time.Time) (known, changed bool, fresh string) {
	age := now.Sub(k.Since)
	switch {
	case secret == k.Secret && age < renewAfter:
		changed, k.Used = !k.Used, true
		return true, changed, ""
	case secret == k.Old && age < onTheWay:
		return true, false, ""
	case secret == k.Secret, secret == k.Old && !k.Used:
		fresh = rand.Text()
		k.Old, k.Secret, k.Since, k.Used = secret, hashOf(fresh), now, false
		return true, true, fresh
	}
	return false, true, ""
}

// change changes the note; do says whether it changed anything, and may run again.
func (a *Access) change(ctx context.Context, do func(*state) (changed bool)) error {
	for range mostSwaps {
		old, err := a.Notes.Noted(ctx, NotePrefix+a.Page)
		if err != nil {
			return fmt.Errorf("read who has access to the page: %w", err)
		}
		var s state
		if len(old) > 0 {
			if err := json.Unmarshal(old, &s); err != nil {
				return fmt.Errorf("read who has access to the page: %w", err)
			}
		}
		now := a.Now()
		s.Links = slices.DeleteFunc(s.Links, func(l link) bool { return !l.Until.IsZero() && !l.Until.After(now) })
		s.Sessions = slices.DeleteFunc(s.Sessions, func(k session) bool { return !k.Until.After(now) })
		if !do(&s) {
			return nil
		}
		value, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("note who has access to the page: %w", err)
		}
		done, err := a.Notes.Swap(ctx, NotePrefix+a.Page, old, value)
		if err != nil {
			return fmt.Errorf("note who has access to the page: %w", err)
		}
		if done || bytes.Equal(old, value) {
			return nil
		}
	}
	return errBusy
}

func hashOf(word string) string {
	sum := sha256.Sum256([]byte(word))
	return hex.EncodeToString(sum[:])
}

func newest[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }
