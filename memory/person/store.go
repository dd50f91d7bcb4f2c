package person

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Store is the part of a store that holds people.
type Store interface {
	memory.Reader
	memory.Rewriter
	memory.People
	memory.Blobs
	memory.Notes
	Put(ctx context.Context, thread chat.ThreadID, body memory.Body, eventIDs ...string) (fresh bool, err error)
}

// People erases and exports people, whom commands name as platform:id.
type People struct {
	Store   Store
	Threads memory.Lister
	// Key makes of a name the one under which the list of the erased has it.
	Key []byte
	// File holds that list beside the store, which may come back older.
	File string
	Now  func() time.Time
	// Beside erases what is kept of a person beside the logs; nil: nothing is.
	Beside func(ctx context.Context, who string) error
}

// Beside names the list beside an audit key.
func Beside(key string) string { return key + ".erased" }

// noteErased is the name under which a store keeps its list of the erased.
const noteErased = "person/erased"

// Export calls each for everything of the person.
func (p People) Export(ctx context.Context, who string, each func(Line) error) error {
	platform, id, _ := strings.Cut(who, ":")
	is := func(u chat.UserID) bool { return string(u) == id }
	err := p.threads(ctx, platform, time.Time{}, func(thread chat.ThreadID) error {
		log, err := p.Store.Read(ctx, thread)
		for _, l := range Export(thread, log, is) {
			err = errors.Join(err, each(l))
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.books(ctx, platform, func(place string) error {
		b, err := memory.ReadBook(ctx, p.Store, place)
		if err != nil {
			return err
		}
		for _, f := range b.Facts {
			if is(f.By.ID) {
				err = errors.Join(err, each(Line{Kind: "fact", Thread: f.In, At: f.At, Text: f.Text}))
			}
		}
		return err
	})
}

// books calls each for the places of a platform that have facts.
func (p People) books(ctx context.Context, platform string, each func(place string) error) error {
	places, err := memory.Books(ctx, p.Store)
	if err != nil {
		return fmt.Errorf("read where facts are: %w", err)
	}
	for _, place := range places {
		if of, _, _ := strings.Cut(place, ":"); of == platform {
			if err := each(place); err != nil {
				return err
			}
		}
	}
	return nil
}

// eraseFacts erases what the person wrote down until a time, and counts it.
func (p People) eraseFacts(ctx context.Context, platform string, is Is, until time.Time) (n int, err error) {
	err = p.books(ctx, platform, func(place string) error {
		var gone []*memory.Fact
		err := memory.ChangeBook(ctx, p.Store, place, func(b *memory.Book) []*memory.Fact {
			gone = nil
			for _, f := range slices.Clone(b.Facts) {
				if is(f.By.ID) && !f.At.After(until) {
					fact, _ := b.Drop(f.Number, string(Erased))
					gone = append(gone, fact)
				}
			}
			return gone
		})
		n += len(gone)
		return err
	})
	return n, err
}

// Erase takes a person out of the store, and counts what it found. First it lists the
// person as erased, so an erasure that broke off is done again at the next start.
func (p People) Erase(ctx context.Context, who string) (Found, error) {
	platform, _, _ := strings.Cut(who, ":")
	line := platform + " " + p.hash(who) + " " + p.Now().UTC().Format(time.RFC3339Nano)
	listed, err := p.list()
	if err == nil {
		err = p.write(append(listed, line))
	}
	if err != nil {
		return Found{}, err
	}
	all, err := p.eraseListed(ctx, line)
	if err == nil && p.Beside != nil {
		err = p.Beside(ctx, who)
	}
	if err != nil {
		return all, err
	}
	return all, p.note(ctx, line)
}

// Again erases everybody who is listed beside the store and not in it, and lists there who
// is listed in the store only. It gives how many people it erased.
func (p People) Again(ctx context.Context) (n int, err error) {
	listed, err := p.list()
	if err != nil {
		return 0, err
	}
	raw, err := p.Store.Noted(ctx, noteErased)
	if err != nil {
		return 0, fmt.Errorf("read who was erased: %w", err)
	}
	noted := words(string(raw), "\n")
	for _, line := range listed {
		if slices.Contains(noted, line) {
			continue
		}
		if _, err := p.eraseListed(ctx, line); err != nil {
			return n, err
		}
		if err := p.note(ctx, line); err != nil {
			return n, err
		}
		n++
	}
	return n, p.write(append(listed, noted...))
}

// eraseListed erases the person of a line of the list: a platform, a hash, a time. What
// they wrote after that time stays.
func (p People) eraseListed(ctx context.Context, line string) (all Found, err error) {
	platform, rest, _ := strings.Cut(line, " ")
	hash, at, _ := strings.Cut(rest, " ")
	until, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return all, fmt.Errorf("read who was erased: %w", err)
	}
	known := map[chat.UserID]bool{}
	is := func(id chat.UserID) bool {
		if _, ok := known[id]; !ok {
			known[id] = id != "" && p.hash(platform+":"+string(id)) == hash
		}
		return known[id]
	}
	direct, err := p.unname(ctx, platform, is)
	if err != nil {
		return all, err
	}
	// Threads that change meanwhile are looked at again, and counted once.
	counted := map[chat.ThreadID]bool{}
	for since, changed := (time.Time{}), true; changed; {
		begun := p.Now().Add(-time.Minute)
		changed = false
		err := p.threads(ctx, platform, since, func(thread chat.ThreadID) error {
			found, err := p.eraseThread(ctx, thread, is, until, direct[thread.Channel])
			if found.changed && !counted[thread] {
				all.add(found)
			}
			changed, counted[thread] = changed || found.changed, true
			return err
		})
		if err != nil {
			return all, err
		}
		since = begun
	}
	if all.Facts, err = p.eraseFacts(ctx, platform, is, until); err != nil {
		return all, err
	}
	_, err = p.unname(ctx, platform, is)
	for id, theirs := range known {
		if theirs && p.Beside != nil {
			err = errors.Join(err, p.Beside(ctx, platform+":"+string(id)))
		}
	}
	return all, err
}

// unname destroys the key of the person's pseudonym, and gives the platform's direct
// conversations that have one.
func (p People) unname(ctx context.Context, platform string, is Is) (direct map[string]bool, err error) {
	people, err := p.Store.People(ctx)
	if err != nil {
		return nil, fmt.Errorf("read whom the audit log names: %w", err)
	}
	direct = map[string]bool{}
	for _, known := range people {
		of, id, _ := strings.Cut(known.ID, ":")
		if of != platform {
			continue
		}
		direct[id] = true
		if is(chat.UserID(id)) {
			if err := p.Store.Unname(ctx, known.ID); err != nil {
				return nil, err
			}
		}
	}
	return direct, nil
}

// eraseThread erases a person from a thread. A turn of theirs that is not over is stopped,
// and with it the calls that wait. The log comes last: until then an erasure that broke off
// finds the same again.
func (p People) eraseThread(ctx context.Context, thread chat.ThreadID, is Is, until time.Time, direct bool) (Found, error) {
	log, err := p.Store.Read(ctx, thread)
	if err != nil {
		return Found{}, err
	}
	_, found := Erase(log, is, until)
	if !found.changed {
		return found, nil
	}
	if err := p.hide(ctx, found.refs); err != nil {
		return found, err
	}
	told := memory.Erased{Messages: found.Messages}
	if found.Running {
		told.By = chat.User{ID: Erased, Name: "an operator"}
	}
	if _, err := p.Store.Put(ctx, thread, told); err != nil {
		return found, err
	}
	for name := range found.blobs {
		if err := p.Store.DropBlob(ctx, thread, name); err != nil {
			return found, err
		}
	}
	if direct && found.Messages > 0 {
		if err := p.Store.Unname(ctx, thread.Platform+":"+thread.Channel); err != nil {
			return found, err
		}
	}
	return found, p.Store.Rewrite(ctx, thread, func(log []memory.Entry) []memory.Body {
		out, _ := Erase(log, is, until)
		return out
	})
}

func (f *Found) add(more Found) {
	f.Messages += more.Messages
	f.Turns += more.Turns
	f.Files += more.Files
	f.Votes += more.Votes
	f.Grants += more.Grants
	f.Schedules += more.Schedules
	f.Calls += more.Calls
}

// threads calls each for the threads of a platform that were touched since a time.
func (p People) threads(ctx context.Context, platform string, since time.Time, each func(chat.ThreadID) error) error {
	return memory.EachThread(ctx, p.Threads, memory.ListQuery{Platforms: []string{platform}, Since: since}, func(t chat.ThreadID) error {
		return memory.Doing("thread "+t.String(), each(t))
	})
}

// hiding gives the name under which an erased message is noted, and its word there. Ids of
// Discord are unique, and a forward does not tell the place. A name holds few words, since
// each message that comes looks one up.
func hiding(ref chat.MessageRef) (name, word string) {
	const snowflake = 17 // digits, at least
	if len(ref.ID) >= snowflake && strings.Trim(ref.ID, "0123456789") == "" {
		ref.Channel = ""
	}
	word = memory.Short(ref.String())
	return "person/" + word[:2], word
}

// hide notes messages, so that no look reads them again.
func (p People) hide(ctx context.Context, refs map[chat.MessageRef]bool) error {
	for ref := range refs {
		name, word := hiding(ref)
		if err := memory.AddLine(ctx, p.Store, name, word, " "); err != nil {
			return fmt.Errorf("note who was erased: %w", err)
		}
	}
	return nil
}

// Hidden says which of these messages were erased.
func Hidden(ctx context.Context, notes memory.Notes, refs ...chat.MessageRef) (map[chat.MessageRef]bool, error) {
	noted, out := map[string][]string{}, map[chat.MessageRef]bool{}
	for _, ref := range refs {
		name, word := hiding(ref)
		if _, read := noted[name]; !read {
			raw, err := notes.Noted(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("read which messages were erased: %w", err)
			}
			noted[name] = strings.Fields(string(raw))
		}
		out[ref] = slices.Contains(noted[name], word)
	}
	return out, nil
}

func (p People) note(ctx context.Context, line string) error {
	return memory.Doing("note who was erased", memory.AddLine(ctx, p.Store, noteErased, line, "\n"))
}

func (p People) hash(who string) string {
	h := hmac.New(sha256.New, p.Key)
	_, _ = h.Write([]byte("erased " + who)) // never fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// list reads the file.
func (p People) list() ([]string, error) {
	raw, err := os.ReadFile(p.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read who was erased: %w", err)
	}
	return words(string(raw), "\n"), nil
}

func words(list, between string) []string {
	return slices.DeleteFunc(strings.Split(list, between), func(s string) bool { return s == "" })
}

func unique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// write replaces the file.
func (p People) write(lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	fresh := p.File + ".new"
	err := os.WriteFile(fresh, []byte(strings.Join(unique(lines), "\n")+"\n"), 0o600)
	if err == nil {
		err = os.Rename(fresh, p.File)
	}
	return memory.Doing("write who was erased", err)
}
