// Package factor is the second factor of approvers: a secret that a person's authenticator
// shares with the store, and six digits that it makes of the time (TOTP, RFC 6238).
//
// All secrets are one note, sealed with a key that is not in the store. So a copy of the
// store tells no secret, and a program that only writes the store makes none. The same note
// remembers the last code and the wrong tries of each person. It changes by compare-and-swap
// before an answer is given: on any number of processes a code counts once, and the tries
// are five.
package factor

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"nod/memory"
)

// Notes are the notes of a store, as far as they are needed here.
type Notes interface {
	Noted(ctx context.Context, name string) ([]byte, error)
	Swap(ctx context.Context, name string, old, value []byte) (done bool, err error)
}

// Factors are the second factors in a store. People are named as platform:id.
type Factors struct {
	Notes Notes
	Key   func() ([]byte, error) // 32 bytes that seal the secrets
	Now   func() time.Time
}

const (
	note      = "factors"
	period    = 30 // seconds of a code
	mostWrong = 5
	lockedFor = 15 * time.Minute
)

// Words for the person who has no code, or was wrong too often. They end without a period.
const (
	none    = "You have no code here; whoever runs me gives you one"
	wrong   = "This code is wrong"
	notSix  = "A code is six digits"
	used    = "This code was used already; wait for the next one"
	tooMany = "Too many wrong codes; try again in 15 minutes"
)

// person is the secret of a person, and what became of their codes.
type person struct {
	Secret string    `json:"secret"`
	Last   uint64    `json:"last,omitempty"` // the period of the last code that counted
	Wrong  int       `json:"wrong,omitempty"`
	Until  time.Time `json:"until,omitzero"` // locked out
}

// Add gives a person a secret, and returns its address for an authenticator. Nothing
// returns it again.
func (f Factors) Add(ctx context.Context, who string) (address string, err error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "nod", AccountName: who})
	if err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	known := false
	err = f.change(ctx, func(all map[string]person) bool {
		if _, known = all[who]; !known {
			all[who] = person{Secret: key.Secret()}
		}
		return !known
	})
	if err == nil && known {
		err = fmt.Errorf("%s has one already; remove it first", who)
	}
	return key.URL(), err
}

// Remove takes a person's secret away; ok is false if they have none.
func (f Factors) Remove(ctx context.Context, who string) (ok bool, err error) {
	if raw, err := f.Notes.Noted(ctx, note); err != nil || len(raw) == 0 {
		return false, err // and no key is made
	}
	err = f.change(ctx, func(all map[string]person) bool {
		_, ok = all[who]
		delete(all, who)
		return ok
	})
	return ok, err
}

// List names the people who have a secret.
func (f Factors) List(ctx context.Context) (who []string, err error) {
	err = f.change(ctx, func(all map[string]person) bool {
		who = slices.Sorted(maps.Keys(all))
		return false
	})
	return who, err
}

// Spend uses a person's code up. Refused says why it does not count, and locked, for the
// log, that this was the wrong one that locks them out. Without digits it only says whether
// they may try.
func (f Factors) Spend(ctx context.Context, who, digits string) (refused, locked string, err error) {
	digits = strings.ReplaceAll(digits, " ", "")
	err = f.change(ctx, func(all map[string]person) bool {
		p, known := all[who]
		refused, locked = "", ""
		switch now := f.Now(); {
		case !known:
			refused = none
		case now.Before(p.Until):
			refused = tooMany
		case digits == "":
		case len(digits) != 6 || strings.Trim(digits, "0123456789") != "":
			refused = notSix
		default:
			refused = p.spend(digits, now)
			if now.Before(p.Until) {
				locked = memory.LockedOut
			}
			all[who] = p
			return refused != used
		}
		return false
	})
	return refused, locked, err
}

// spend tries a code of now, of the period before or of the next one.
func (p *person) spend(digits string, now time.Time) (refused string) {
	at := uint64(now.Unix()) / period //nolint:gosec // it is after 1970
	for step := at - 1; step <= at+1; step++ {
		ok, err := hotp.ValidateCustom(digits, step, p.Secret, hotp.ValidateOpts{Digits: otp.DigitsSix})
		switch {
		case err != nil || !ok:
		case step <= p.Last:
			return used
		default:
			p.Last, p.Wrong = step, 0
			return ""
		}
	}
	if p.Wrong++; p.Wrong < mostWrong {
		return wrong
	}
	p.Wrong, p.Until = 0, now.Add(lockedFor)
	return tooMany
}

// change has do change the people, and keeps that if do says so. It repeats do where
// another process was faster.
func (f Factors) change(ctx context.Context, do func(all map[string]person) (keep bool)) error {
	seals, err := f.seals()
	if err != nil {
		return err
	}
	for {
		raw, err := f.Notes.Noted(ctx, note)
		if err != nil {
			return fmt.Errorf("read the second factors: %w", err)
		}
		all := map[string]person{}
		if len(raw) > 0 {
			plain, err := seals.Open(nil, nil, raw, []byte(note))
			if err == nil {
				err = json.Unmarshal(plain, &all)
			}
			if err != nil {
				return fmt.Errorf("open the second factors; approvals.factor_key may be another file than the one that sealed them: %w", err)
			}
		}
		if !do(all) {
			return nil
		}
		plain, err := json.Marshal(all)
		if err != nil {
			return err
		}
		done, err := f.Notes.Swap(ctx, note, raw, seals.Seal(nil, nil, plain, []byte(note)))
		if err != nil {
			return fmt.Errorf("keep the second factors: %w", err)
		}
		if done {
			return nil
		}
	}
}

// seals is the cipher of the note; it draws its own nonces.
func (f Factors) seals() (cipher.AEAD, error) {
	key, err := f.Key()
	if err != nil {
		return nil, fmt.Errorf("approvals.factor_key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("approvals.factor_key: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
