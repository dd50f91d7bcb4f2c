package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Grants answers `grants`.
func Grants(s *thread.Thread) string {
	var b strings.Builder
	for _, g := range s.Approvals.Grants {
		if !g.Holds(s.Now) {
			continue
		}
		fmt.Fprintf(&b, "- %d: `%s` %s, %s, by %s\n", g.Number, g.Tool, phrase.Code(g.Args), grantTerms(g), chat.Names(g.By))
	}
	if b.Len() == 0 {
		return "Nothing is allowed for a while in this thread."
	}
	return "Allowed in this thread without another approval:\n\n" + b.String() + "\n`revoke N` ends one."
}

func grantTerms(g *thread.Grant) string {
	return fmt.Sprintf("until %s, %d more %s", g.Until.UTC().Format("2 Jan 15:04 UTC"), g.Left(), phrase.Plural(g.Left(), "time"))
}

// Allowed answers `allow`.
func Allowed(s *thread.Thread, c *thread.Command) string {
	v, judged := s.Became[c.Seq].(memory.Vote)
	call := s.Calls[v.Call]
	switch {
	case !judged || call == nil:
		return "That approval is over."
	case !v.Counts:
		return "That does not count: " + v.Reason + "."
	}
	if g := s.Grant(call.Asked.Number); g != nil {
		return fmt.Sprintf("Allowed in this thread: `%s` %s, %s. `grants` lists it, `revoke %d` ends it.", g.Tool, phrase.Code(g.Args), grantTerms(g), g.Number)
	}
	return "It counts as an approval. As many different people as have to approve have to allow it for a while."
}

// Revoked answers `revoke`.
func Revoked(s *thread.Thread, arg string) string {
	if n, err := strconv.Atoi(arg); err == nil && s.Grant(n) != nil {
		return fmt.Sprintf("Revoked: what %d allowed asks again.", n)
	}
	return "There is nothing that was allowed under this number. `grants` lists what is."
}

// Artifacts answers `artifacts`.
func Artifacts(s *thread.Thread) string {
	if len(s.Artifacts) == 0 {
		return "This thread holds no files and no long results."
	}
	var b strings.Builder
	b.WriteString("This thread holds:\n")
	for _, a := range s.Artifacts {
		fmt.Fprintf(&b, "- `%s`: %s, %d bytes, from %s", a.Name, a.MediaType, a.Size, a.From)
		if a.Gone() {
			b.WriteString(" (dropped: the model does not see it)")
		}
		b.WriteString("\n")
	}
	b.WriteString("`drop NAME` takes one from what I see.")
	return b.String()
}

// NoRoom says which files of a message were not kept, and what helps.
func NoRoom(files []chat.File) string {
	var b strings.Builder
	for _, f := range files {
		if f.Refused != "" {
			fmt.Fprintf(&b, "I did not keep `%s`: %s.\n", f.Name, f.Refused)
		}
	}
	return b.String() + "`drop NAME` and `forget` make room; `artifacts` lists what is kept here."
}

// Dropped answers `drop`.
func Dropped(s *thread.Thread, name string) string {
	if s.Artifact(name) == nil {
		return fmt.Sprintf("There is no `%s` here. `artifacts` lists what there is.", name)
	}
	return fmt.Sprintf("Dropped `%s`: I don't see it any more.", name)
}

// Which lists the waiting approvals, to a person whose word named none of them.
func Which(s *thread.Thread) string {
	open := s.StandingCards()
	if len(open) == 0 {
		return "No approval waits here."
	}
	var list []string
	for _, c := range open {
		list = append(list, fmt.Sprintf("%d %s", c.Asked.Number, c.Tool))
	}
	return fmt.Sprintf("These approvals wait: %s. Answer with the number, as in `y %d`.", strings.Join(list, ", "), open[0].Asked.Number)
}

// Remembered says what stands for older turns, and what there is to read.
func Remembered(s *thread.Thread) string {
	var b strings.Builder
	if s.Trim.Summary != "" {
		b.WriteString("\n\n**Summary of what is left out**\n\n" + s.Trim.Summary)
	}
	switch {
	case s.Trim.Recap != "" && s.Recalled:
		b.WriteString("\n\n**Brought back**\n\n" + s.Trim.Recap)
	case s.Trim.Recap != "":
		b.WriteString("\n\n**Earlier here** (set aside after a long silence; `recap` brings it back)\n\n" + s.Trim.Recap)
	}
	if files := s.Held(); len(files) > 0 {
		b.WriteString("\n\n**Artifacts** " + strings.Join(phrase.FileNames(files), ", "))
	}
	if off := s.OffList(); len(off) > 0 {
		b.WriteString("\n\n**Tools switched off here** " + strings.Join(off, ", "))
	}
	return b.String()
}

// Unwritten names the people who could not be written to, as a text and as rules; "" where
// there are none.
func Unwritten(c *thread.Call, s thread.Search) (text string, rules []string) {
	var names []chat.User
	var why []string
	for _, u := range s.People {
		reason, missed := c.Copies.Missed[thread.DirectWith(u.ID)]
		if !missed {
			continue
		}
		names, rules = append(names, u), append(rules, thread.DirectWith(u.ID))
		if reason != "" && !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	var lines []string
	if len(names) > 0 {
		line := "I could not write to " + chat.Names(names) + " directly"
		if len(why) > 0 {
			line += ": " + strings.Join(why, "; ")
		}
		lines = append(lines, line+".")
	}
	if len(s.Unknown) > 0 {
		rules = append(rules, s.Unknown...)
		lines = append(lines, "I could not find out who is in `"+strings.Join(s.Unknown, "`, `")+"`, so I wrote to nobody there directly.")
	}
	if len(lines) == 0 {
		return "", nil
	}
	return fmt.Sprintf("Approval %d: `%s`. %s", c.Asked.Number, c.Tool, strings.Join(lines, " ")), rules
}
