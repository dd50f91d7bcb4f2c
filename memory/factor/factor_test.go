package factor_test

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"nod/memory/factor"
)

// board is notes in memory.
type board struct {
	mu sync.Mutex
	on map[string][]byte
}

func (b *board) Noted(_ context.Context, name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.on[name], nil
}

func (b *board) Swap(_ context.Context, name string, old, value []byte) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !bytes.Equal(b.on[name], old) {
		return false, nil
	}
	b.on[name] = value
	return true, nil
}

// bench is a store with ada's secret, at a time that the test sets.
type bench struct {
	factor.Factors
	t      *testing.T
	notes  *board
	secret string
	now    time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, notes: &board{on: map[string][]byte{}}, now: time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)}
	key := bytes.Repeat([]byte{7}, 32)
	b.Factors = factor.Factors{Notes: b.notes, Key: func() ([]byte, error) { return key, nil }, Now: func() time.Time { return b.now }}
	address, err := b.Add(t.Context(), "slack:U1")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "otpauth" {
		t.Fatalf("%s is no address: %v", address, err)
	}
	b.secret = u.Query().Get("secret")
	return b
}

// code is what ada's phone shows, whose clock is off by so much.
func (b *bench) code(off time.Duration) string {
	code, err := totp.GenerateCode(b.secret, b.now.Add(off))
	if err != nil {
		b.t.Fatal(err)
	}
	return code
}

func (b *bench) spend(who, digits string) (string, bool) {
	refused, locked, err := b.Spend(b.t.Context(), who, digits)
	if err != nil {
		b.t.Fatal(err)
	}
	return refused, locked != ""
}

// A clock may be off by one period. A code counts once, and none that is older than the
// last one.
func TestClocksAndReplays(t *testing.T) {
	for _, tt := range []struct {
		off time.Duration
		ok  bool
	}{{-90 * time.Second, false}, {-30 * time.Second, true}, {0, true}, {30 * time.Second, true}, {90 * time.Second, false}} {
		b := newBench(t)
		code := b.code(tt.off)
		if refused, _ := b.spend("slack:U1", code[:3]+" "+code[3:]); (refused == "") != tt.ok {
			t.Errorf("off by %s: %q", tt.off, refused)
		}
		if refused, _ := b.spend("slack:U1", code); refused == "" {
			t.Errorf("off by %s: the code counts twice", tt.off)
		}
		if refused, _ := b.spend("slack:U1", b.code(-30*time.Second)); tt.ok && tt.off >= 0 && !strings.Contains(refused, "used already") {
			t.Errorf("off by %s: then an older one: %q", tt.off, refused)
		}
		if refused, _ := b.spend("slack:U2", b.code(0)); !strings.HasPrefix(refused, "You have no code here") {
			t.Errorf("somebody else: %q", refused)
		}
	}
}

// The fifth wrong code locks a person out for 15 minutes; a right one before it does not
// count as one of them, and a code that was used is no wrong one.
func TestLockout(t *testing.T) {
	b := newBench(t)
	bad := func() string {
		for _, code := range []string{"000000", "111111", "222222", "333333"} {
			if code != b.code(0) && code != b.code(-30*time.Second) && code != b.code(30*time.Second) {
				return code
			}
		}
		panic("they are three")
	}
	for range 4 {
		if refused, locked := b.spend("slack:U1", bad()); refused != "This code is wrong" || locked {
			t.Fatalf("a wrong one: %q, %v", refused, locked)
		}
	}
	right := b.code(0)
	for i, want := range []string{"", "used already", "used already", "used already", "used already", "used already"} {
		if refused, _ := b.spend("slack:U1", right); (refused == "") != (want == "") || !strings.Contains(refused, want) {
			t.Fatalf("the right one, %d: %q", i, refused)
		}
	}
	b.spend("slack:U1", "12345")
	for i := range 5 {
		if _, locked := b.spend("slack:U1", bad()); locked != (i == 4) {
			t.Fatalf("wrong one %d: locked %v", i+1, locked)
		}
	}
	b.now = b.now.Add(15*time.Minute - time.Second)
	for _, digits := range []string{b.code(0), ""} {
		if refused, locked := b.spend("slack:U1", digits); refused == "" || locked {
			t.Fatalf("the sixth: %q, %v", refused, locked)
		}
	}
	b.now = b.now.Add(time.Second)
	if refused, _ := b.spend("slack:U1", b.code(0)); refused != "" {
		t.Errorf("after the lockout: %q", refused)
	}
}

// Of one code that is sent many times at once, one counts; of wrong ones five are tried.
func TestAtOnce(t *testing.T) {
	b := newBench(t)
	right := b.code(0)
	for _, digits := range []string{right, b.code(time.Hour)} {
		var all sync.WaitGroup
		var mu sync.Mutex
		counted, locks := 0, 0
		for range 20 {
			all.Go(func() {
				refused, locked, err := b.Spend(t.Context(), "slack:U1", digits)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && refused == "" {
					counted++
				}
				if locked != "" {
					locks++
				}
			})
		}
		all.Wait()
		if digits == right && (counted != 1 || locks != 0) || digits != right && (counted != 0 || locks != 1) {
			t.Errorf("counted %d, locked %d", counted, locks)
		}
	}
}

// The store holds no secret, and another key opens nothing.
func TestSealed(t *testing.T) {
	b := newBench(t)
	for _, raw := range b.notes.on {
		if bytes.Contains(raw, []byte(b.secret)) || bytes.Contains(raw, []byte("slack")) {
			t.Errorf("the store holds %q", raw)
		}
	}
	if _, err := b.Add(t.Context(), "slack:U1"); err == nil || strings.Contains(err.Error(), b.secret) {
		t.Errorf("a second one: %v", err)
	}
	if who, err := b.List(t.Context()); err != nil || len(who) != 1 || who[0] != "slack:U1" {
		t.Errorf("list: %v, %v", who, err)
	}
	other := b.Factors
	other.Key = func() ([]byte, error) { return bytes.Repeat([]byte{8}, 32), nil }
	if refused, _, err := other.Spend(t.Context(), "slack:U1", b.code(0)); err == nil {
		t.Errorf("another key: %q", refused)
	}
	if ok, err := b.Remove(t.Context(), "slack:U1"); !ok || err != nil {
		t.Errorf("remove: %v, %v", ok, err)
	}
	if refused, _ := b.spend("slack:U1", b.code(0)); refused == "" {
		t.Error("a code of a secret that is gone counts")
	}
}
