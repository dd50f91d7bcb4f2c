package memory

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"nod/chat"
)

// The audit log names people by pseudonyms. A pseudonym is an HMAC under a random key
// for each person, and the store keeps the keys apart from the lines. So a person is
// erased by destroying one key, and no hash of the chain changes.
//
// A person's reason is an HMAC too. Its text stands beside the line, encrypted under
// the same key, so it is unreadable from then on.

// Person is a person's key. The ID is platform:user, or platform:channel for a direct
// conversation. Reasons that no person gave have the key of "platform:".
type Person struct {
	ID  string
	Key []byte
}

// People keeps the keys of pseudonyms. Both stores implement it.
type People interface {
	// People lists all keys.
	People(ctx context.Context) ([]Person, error)
	// Unname destroys a person's key. A later line about that person has a new key.
	Unname(ctx context.Context, id string) error
}

// NewKey makes a random key.
func NewKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

// Pseudonym names the person in the audit log.
func (p Person) Pseudonym() chat.UserID { return chat.UserID(p.mac(p.ID)) }

// mac gives 128 bits of an HMAC, in hex.
func (p Person) mac(text string) string { return hex.EncodeToString(p.sum(text)[:16]) }

func (p Person) sum(text string) []byte {
	h := hmac.New(sha256.New, p.Key)
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}

// sealing is the cipher of a person's texts. Its nonce comes from the HMAC of the text,
// so two texts never share one.
func (p Person) sealing() (cipher.AEAD, error) {
	block, err := aes.NewCipher(p.sum("key of texts"))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (p Person) seal(reason string) (mac string, text []byte, err error) {
	mac = p.mac("reason " + reason)
	gcm, err := p.sealing()
	if err != nil {
		return "", nil, err
	}
	return mac, gcm.Seal(nil, []byte(mac[:gcm.NonceSize()]), []byte(reason), nil), nil
}

func (p Person) unseal(mac string, text []byte) (reason string, ok bool) {
	gcm, err := p.sealing()
	if err != nil || len(mac) < gcm.NonceSize() {
		return "", false
	}
	plain, err := gcm.Open(nil, []byte(mac[:gcm.NonceSize()]), text, nil)
	return string(plain), err == nil && p.mac("reason "+string(plain)) == mac
}

// Keys gives a person's key, and makes it if there is none. A store calls Hide with it
// before it writes a line.
type Keys func(id string) ([]byte, error)

// ErrNoKey is returned by Keys that make none.
var ErrNoKey = errors.New("this person has no key")

// HiddenLine is a line with pseudonyms, and the encrypted text of its reason.
type HiddenLine struct {
	AuditLine
	Text []byte
}

// Hide replaces people and the reason of lines by pseudonyms, and the channel too where
// direct says that it is a conversation with one person (nil: none is).
func (k Keys) Hide(direct func(chat.ThreadID) bool, lines ...AuditLine) ([]HiddenLine, error) {
	out := make([]HiddenLine, len(lines))
	for i, l := range lines {
		hidden, text, err := k.hide(l, direct != nil && direct(l.Thread))
		if err != nil {
			return nil, fmt.Errorf("name people in the audit log: %w", err)
		}
		out[i] = HiddenLine{hidden, text}
	}
	return out, nil
}

func (k Keys) hide(l AuditLine, direct bool) (_ AuditLine, text []byte, err error) {
	platform := l.Thread.Platform + ":"
	person := func(id string) Person {
		key, e := k(platform + id)
		err = errors.Join(err, e)
		return Person{platform + id, key}
	}
	if l.Reason != "" {
		giver := "" // nobody
		if len(l.By) > 0 {
			giver = string(l.By[0])
		}
		if p := person(giver); err == nil {
			l.Reason, text, err = p.seal(strings.ToValidUTF8(l.Reason, "\uFFFD"))
		}
	}
	l = l.rename(func(id string) string { return string(person(id).Pseudonym()) })
	if direct {
		l.Thread.Channel = string(person(l.Thread.Channel).Pseudonym())
	}
	return l, text, err
}

// rename gives a copy of a line with other names of the people in it.
func (l AuditLine) rename(name func(string) string) AuditLine {
	l.By = slices.Clone(l.By)
	for i, id := range l.By {
		l.By[i] = chat.UserID(name(string(id)))
	}
	if l.Rules != nil {
		rules := *l.Rules
		rules.Approvers = slices.Clone(rules.Approvers)
		for i, r := range rules.Approvers {
			if id, ok := strings.CutPrefix(r, "user:"); ok {
				rules.Approvers[i] = "user:" + name(id)
			}
		}
		l.Rules = &rules
	}
	return l
}

// Names resolves pseudonyms.
type Names map[chat.UserID]Person

type peopleLister interface {
	People(ctx context.Context) ([]Person, error)
}

// Resolved gives lines with the ids of people; those of one thread, unless it is zero.
func Resolved(ctx context.Context, s peopleLister, thread chat.ThreadID, lines func(Names) iter.Seq2[KeptLine, error]) iter.Seq2[AuditLine, error] {
	return func(yield func(AuditLine, error) bool) {
		names, err := NamesOf(ctx, s)
		if err != nil {
			yield(AuditLine{}, err)
			return
		}
		for k, err := range lines(names) {
			var l AuditLine
			if err == nil {
				if l, err = names.Resolve(k); err != nil {
					err = fmt.Errorf("read a line of the audit log: %w", err)
				}
			}
			if err == nil && thread != (chat.ThreadID{}) && l.Thread != thread {
				continue
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// NamesOf reads the keys of a store.
func NamesOf(ctx context.Context, s peopleLister) (Names, error) {
	people, err := s.People(ctx)
	return NewNames(people), Doing("read who is who in the audit log", err)
}

// NewNames resolves the pseudonyms of people.
func NewNames(people []Person) Names {
	n := make(Names, len(people))
	for _, p := range people {
		n[p.Pseudonym()] = p
		if strings.HasSuffix(p.ID, ":") {
			n[chat.UserID(p.ID)] = p // nobody: no line names it
		}
	}
	return n
}

// id gives the platform's id behind a pseudonym.
func (n Names) id(pseudonym string) (id string, ok bool) {
	p, ok := n[chat.UserID(pseudonym)]
	_, id, _ = strings.Cut(p.ID, ":")
	return id, ok
}

// Thread gives the conversation behind a line's thread. Only a direct conversation has
// another name, and without its key it keeps the pseudonym.
func (n Names) Thread(t chat.ThreadID) chat.ThreadID {
	if id, ok := n.id(t.Channel); ok {
		t.Channel = id
	}
	return t
}

// IsPseudonym says whether a name has the form of a pseudonym.
func IsPseudonym(name string) bool {
	raw, err := hex.DecodeString(name)
	return err == nil && len(raw) == 16
}

// Hidden is the inverse of Thread.
func (n Names) Hidden(t chat.ThreadID) chat.ThreadID {
	for pseudonym, p := range n {
		if p.ID == t.Platform+":"+t.Channel {
			t.Channel = string(pseudonym)
			break
		}
	}
	return t
}

// Resolve gives a line with the ids of people, and the text of its reason. A pseudonym
// without a key is shortened, and its reason is erased.
func (n Names) Resolve(k KeptLine) (AuditLine, error) {
	l, err := DecodeLine(k.Raw)
	if err != nil {
		return l, err
	}
	giver := n.giver(l)
	if l.Reason != "" {
		reason, ok := giver.unseal(l.Reason, k.Text)
		if l.Reason = reason; !ok {
			l.Reason = "[erased]"
		}
	}
	l = l.rename(n.resolve)
	l.Thread = n.Thread(l.Thread)
	return l, nil
}

func (n Names) resolve(pseudonym string) string {
	if id, ok := n.id(pseudonym); ok {
		return id
	}
	return pseudonym[:min(8, len(pseudonym))] + "…"
}

// giver is the person under whose key a line's reason stands.
func (n Names) giver(l AuditLine) Person {
	if len(l.By) > 0 {
		return n[l.By[0]]
	}
	return n[chat.UserID(l.Thread.Platform+":")]
}

// Of gives the people whom a line names, by pseudonym.
func (n Names) Of(l AuditLine) map[chat.UserID]string {
	out := map[chat.UserID]string{}
	note := func(pseudonym string) string {
		if p, ok := n[chat.UserID(pseudonym)]; ok {
			out[chat.UserID(pseudonym)] = p.ID
		}
		return pseudonym
	}
	note(l.Thread.Channel)
	l.rename(note)
	return out
}
