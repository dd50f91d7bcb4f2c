package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
)

// Facts are texts that people wrote down in a channel, or in a direct conversation. They
// are a log of their own, a [Book] in a note of the store. Logs of threads name facts and
// hold no text of them, so a fact can be forgotten.

// Book is the facts of one place.
type Book struct {
	Last  int    `json:"last"` // number of the latest fact: none is used again
	Facts []Fact `json:"facts,omitempty"`
	Gone  []Gone `json:"gone,omitempty"` // the facts that were forgotten lately
}

// Fact is a text that somebody wrote down. In and ID name the word or the call that it came
// of, so each makes one fact.
type Fact struct {
	Number int           `json:"number"`
	In     chat.ThreadID `json:"in"`
	ID     string        `json:"id"` // of a call, or of the message
	Text   string        `json:"text"`
	By     chat.User     `json:"by"`
	At     time.Time     `json:"at"`
	Source string        `json:"source,omitempty"` // content from outside that the model had been shown
}

// Gone is a forgotten fact. A repeated word makes and forgets nothing more.
type Gone struct {
	Number int    `json:"number"`
	Name   string `json:"name"` // its [Fact.Name]
	By     string `json:"by"`   // name of the word that forgot it
}

// FactRef names a fact that a prompt shows.
type FactRef struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
}

type (
	// Remembered says what came of a word about a fact, or of a call.
	Remembered struct {
		Number  int       `json:"number,omitempty"`
		Name    string    `json:"name,omitempty"` // of the fact; empty where there is none
		By      chat.User `json:"by"`
		Message uint64    `json:"message,omitempty"` // Seq of the word
		Call    string    `json:"call,omitempty"`
		Forgot  bool      `json:"forgot,omitempty"`  // it was forgotten
		Refused string    `json:"refused,omitempty"` // why nothing came of it
	}

	// Recalled says which facts prompts show from now on.
	Recalled struct {
		Facts []FactRef `json:"facts"`
	}
)

// Forgotten stands in the place of the text of a forgotten fact.
const Forgotten = "[forgotten]"

// FactName is the name of the fact that comes of a word or a call. A store that came back
// older may use its number again, and never its name.
func FactName(in chat.ThreadID, id string) string { return Short(in.String() + "#" + id) }

// Name is the fact's name.
func (f Fact) Name() string { return FactName(f.In, f.ID) }

// Refs names all facts, in their order.
func (b *Book) Refs() (refs []FactRef) {
	for _, f := range b.Facts {
		refs = append(refs, FactRef{f.Number, f.Name(), f.Source})
	}
	return refs
}

// Fact finds a fact; nil where it was forgotten.
func (b *Book) Fact(number int, name string) *Fact {
	for i, f := range b.Facts {
		if f.Number == number && f.Name() == name {
			return &b.Facts[i]
		}
	}
	return nil
}

// Add adds a fact under the next number, unless it was added before. It gives number 0 if
// the book is full.
func (b *Book) Add(f Fact, most int) (number int) {
	name := f.Name()
	for _, g := range b.Gone {
		if g.Name == name {
			return g.Number
		}
	}
	for _, had := range b.Facts {
		if had.Name() == name {
			return had.Number
		}
	}
	if len(b.Facts) >= most {
		return 0
	}
	b.Last++
	f.Number = b.Last
	b.Facts = append(b.Facts, f)
	return f.Number
}

// mostGone is how many forgotten facts a book knows.
const mostGone = 64

// Drop forgets a fact for the word named by. ok is false if there is none; fact is nil if
// the same word forgot it before.
func (b *Book) Drop(number int, by string) (fact *Fact, ok bool) {
	for i, f := range b.Facts {
		if f.Number == number {
			b.Facts = slices.Delete(b.Facts, i, i+1)
			b.Gone = append(b.Gone, Gone{number, f.Name(), by})
			b.Gone = b.Gone[max(0, len(b.Gone)-mostGone):]
			return &f, true
		}
	}
	return nil, slices.ContainsFunc(b.Gone, func(g Gone) bool { return g.Number == number && g.By == by })
}

// booksNote lists the places that have a book, a line each.
const booksNote = "facts"

// BookNote is the name of a place's book among the notes.
func BookNote(place string) string { return booksNote + "/" + place }

// Shelf is the part of a store from which books are read.
type Shelf interface {
	Noted(ctx context.Context, name string) ([]byte, error)
}

// Books lists the places that have a book.
func Books(ctx context.Context, notes Shelf) ([]string, error) {
	raw, err := notes.Noted(ctx, booksNote)
	return strings.Fields(string(raw)), err
}

// ReadBook reads the book of a place.
func ReadBook(ctx context.Context, notes Shelf, place string) (*Book, error) {
	raw, err := notes.Noted(ctx, BookNote(place))
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	return bookOf(raw)
}

func bookOf(raw []byte) (*Book, error) {
	b := &Book{}
	if len(raw) == 0 {
		return b, nil
	}
	return b, Doing("read facts", json.Unmarshal(raw, b))
}

// Keeper is the part of a store that keeps facts.
type Keeper interface {
	Notes
	Rewriter
	Put(ctx context.Context, thread chat.ThreadID, body Body, eventIDs ...string) (fresh bool, err error)
}

// ChangeBook changes the book of a place by compare-and-swap, so change may be called more
// than once. First it takes the facts that change drops out of the threads where they were
// written down. A run that holds such a thread is fenced.
func ChangeBook(ctx context.Context, s Keeper, place string, change func(*Book) (dropped []*Fact)) error {
	for {
		old, err := s.Noted(ctx, BookNote(place))
		if err != nil {
			return fmt.Errorf("change facts: %w", err)
		}
		b, err := bookOf(old)
		if err != nil {
			return err
		}
		for _, f := range change(b) {
			if err := s.Rewrite(ctx, f.In, f.Unquote); err != nil {
				return fmt.Errorf("change facts: %w", err)
			}
			if _, err := s.Put(ctx, f.In, Erased{}, "fact/"+f.Name()); err != nil { // who kept the log reads it anew
				return err
			}
		}
		fresh, err := json.Marshal(b)
		if err != nil || bytes.Equal(old, fresh) || len(old) == 0 && b.Last == 0 {
			return err
		}
		if len(old) == 0 {
			if err := AddLine(ctx, s, booksNote, place, "\n"); err != nil {
				return err
			}
		}
		if done, err := s.Swap(ctx, BookNote(place), old, fresh); done || err != nil {
			return err
		}
	}
}

// AddLine adds a line to a noted list, unless it is there.
func AddLine(ctx context.Context, notes Notes, name, line, end string) error {
	for {
		old, err := notes.Noted(ctx, name)
		if err != nil || slices.Contains(strings.Split(string(old), end), line) {
			return err
		}
		more := strings.TrimPrefix(strings.TrimSuffix(string(old), end)+end+line+end, end)
		if done, err := notes.Swap(ctx, name, old, []byte(more)); done || err != nil {
			return err
		}
	}
}

// Unquote takes the fact's text out of a log: out of the word that wrote it down, or out of
// the call and its changes. Answers that quote it stay.
func (f *Fact) Unquote(log []Entry) []Body {
	out := make([]Body, len(log))
	for i, e := range log {
		out[i] = f.unquote(e.Body)
	}
	return out
}

// forgottenArgs are the arguments of a call whose fact was forgotten.
const forgottenArgs = `{"text":"` + Forgotten + `"}`

// unquote gives an entry without the text; nil if it holds none.
func (f *Fact) unquote(body Body) Body {
	var had bool
	args := func(args string) string {
		var object map[string]any
		if json.Unmarshal([]byte(args), &object) != nil || len(object) != 1 || strings.TrimSpace(fmt.Sprint(object["text"])) != f.Text {
			return args
		}
		had = true
		return forgottenArgs
	}
	switch b := body.(type) {
	case Message:
		head, said, _ := strings.Cut(b.Text, ":")
		if b.Fact && strings.TrimSpace(said) == f.Text {
			b.Text, had = head+": "+Forgotten, true
		} else if i := strings.Index(b.Text, "{"); i >= 0 { // `edit` or `run`
			b.Text = b.Text[:i] + args(strings.Trim(b.Text[i:], "` \n"))
		}
		body = b
	case Step:
		b.Calls = slices.Clone(b.Calls)
		for i, c := range b.Calls {
			b.Calls[i].Args = args(c.Args)
		}
		b.Echo, b.Thought = nil, strings.ReplaceAll(b.Thought, f.Text, Forgotten)
		body = b
	case Ran:
		b.Call.Args = args(b.Call.Args)
		body = b
	case Order:
		b.Args = args(b.Args)
		body = b
	case Change:
		b.Args = args(b.Args)
		body = b
	case Changed:
		b.Args = args(b.Args)
		body = b
	}
	if !had {
		return nil
	}
	return body
}
