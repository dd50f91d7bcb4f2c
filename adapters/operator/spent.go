package operator

import (
	"cmp"
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"time"

	"nod/agent/run"
	"nod/chat"
	"nod/chat/summary"
	"nod/spending"
)

const spentDays = 7 // of the view

// spent is the view of what was used.
type spent struct {
	By, Day    string
	From, To   string // the days of it
	Ways, Days []choice
	Rows       []spentRow
	Total      spentRow
	Money      bool
	Left       int
	pages
	CSV string
}

// choice is a link to the same view in another way.
type choice struct {
	Name, URL string
	Here      bool
}

type spentRow struct {
	Name, URL       string
	Called          string // by people, if that is not Name
	In, Cached, Out int
	Cost            float64
	Limit, Rest     string
	Money           bool
	Part            int // of the limit, or else of the largest row, in per cent

	platform string
	user     chat.UserID
	thread   chat.ThreadID
}

// ways are what the rows can be.
var ways = []string{"person", "channel", "thread", "model", "day"}

// spent adds up by person, channel, thread or model of a day, or by day.
func (p *Page) spent(r *http.Request, page int) (any, error) {
	now := p.o.Now().UTC()
	v, rows, err := p.summed(r, now)
	if err != nil {
		return nil, err
	}
	v.Rows, v.pages = pageOf(r, page, rows)
	if err := p.limits(r.Context(), &v, now); err != nil {
		return nil, err
	}
	v.parts(rows)
	v.CSV, v.Total.Money = address(r, "format", "csv"), v.Money
	known := p.names(r.Context())
	for i := range v.Rows {
		v.Rows[i].Money = v.Money
		if name := p.called(v.By, v.Rows[i], known); name != v.Rows[i].Name {
			v.Rows[i].Called = name
		}
	}
	return v, nil
}

// summed adds up in the way that a request asks for.
func (p *Page) summed(r *http.Request, now time.Time) (v spent, rows []spentRow, err error) {
	v = spent{By: cmp.Or(r.URL.Query().Get("by"), "person"), Day: cmp.Or(r.URL.Query().Get("day"), now.Format(time.DateOnly)), Money: p.o.Agent().Prices != nil}
	if !slices.Contains(ways, v.By) {
		v.By = "person"
	}
	v.choices(r, now)
	oldest := v.Days[len(v.Days)-1].Name
	v.From, v.To = max(v.Day, oldest), v.Day
	if v.By == "day" {
		v.From, v.To = oldest, v.Days[0].Name
	}
	all, left, err := p.ledger.Read(r.Context(), p.source(), now.Truncate(24*time.Hour).AddDate(0, 0, 1-spentDays))
	v.Left = left
	return v, p.rows(&v, all), err
}

// source is where what was used is read.
func (p *Page) source() spending.Source {
	return spending.Source{Logs: p.o.Store, Threads: p.o.Threads, Platforms: p.o.Platforms, Now: p.o.Now}
}

// parts says how long the bars of rows without a limit are.
func (v *spent) parts(all []spentRow) {
	most := 1
	for _, row := range all {
		most = max(most, row.In+row.Out)
	}
	for i := range v.Rows {
		if row := &v.Rows[i]; row.Limit == "" {
			row.Part = 100 * (row.In + row.Out) / most
		}
	}
}

// called is how a row's person or place is called; empty: as its name says.
func (p *Page) called(by string, row spentRow, known known) string {
	switch by {
	case "person":
		return known.person(row.platform, row.user)
	case "channel", "thread":
		return known.place(row.thread)
	}
	return ""
}

// csv sends what was spent as a table for other programs.
func (p *Page) csv(w http.ResponseWriter, r *http.Request) error {
	now := p.o.Now().UTC()
	v, rows, err := p.summed(r, now)
	if err != nil {
		return err
	}
	v.Rows = rows
	if err := p.limits(r.Context(), &v, now); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="spent-`+strings.Trim(v.By, `"`)+`.csv"`)
	_ = csv.NewWriter(w).WriteAll(p.table(r.Context(), v)) // the browser is gone
	return nil
}

// choices are the other ways to look, and the other days.
func (v *spent) choices(r *http.Request, now time.Time) {
	for _, w := range ways {
		v.Ways = append(v.Ways, choice{w, address(r, "by", w, "page", "0"), w == v.By})
	}
	for i := range spentDays {
		day := now.AddDate(0, 0, -i).Format(time.DateOnly)
		v.Days = append(v.Days, choice{day, address(r, "day", day, "page", "0"), day == v.Day})
	}
}

// rows adds the threads' sums up in the way that is asked for, the largest first.
func (p *Page) rows(v *spent, all map[chat.ThreadID]spending.Of) []spentRow {
	prices := p.o.Agent().Prices
	found := map[string]*spentRow{}
	v.Total.Name = "all"
	for thread, of := range all {
		for k, u := range of {
			// Sums are kept for longer than a day, and hold days that are not added up any more.
			if k.Day < v.From || k.Day > v.To {
				continue
			}
			row := p.row(v.By, thread, k)
			if have := found[row.Name]; have != nil {
				row = *have
			}
			for _, sum := range []*spentRow{&row, &v.Total} {
				sum.In += u.Prompt
				sum.Cached += u.Cached
				sum.Out += u.Completion
				sum.Cost += prices.Cost(u, k.Model)
			}
			found[row.Name] = &row
		}
	}
	out := make([]spentRow, 0, len(found))
	for _, row := range found {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(a, b spentRow) int {
		if v.By == "day" {
			return strings.Compare(b.Name, a.Name)
		}
		return cmp.Or(cmp.Compare(b.In+b.Out, a.In+a.Out), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (p *Page) row(by string, thread chat.ThreadID, k spending.Use) spentRow {
	switch by {
	case "channel":
		thread.Root = ""
		if thread.Platform == "discord" {
			thread.Channel, _, _ = strings.Cut(thread.Channel, ":")
		}
		return spentRow{Name: p.word(strings.TrimSuffix(thread.String(), "/")), platform: thread.Platform, thread: thread}
	case "thread":
		return spentRow{Name: p.word(thread.String()), URL: threadURL(thread, 0), platform: thread.Platform, thread: thread}
	case "model":
		return spentRow{Name: p.word(cmp.Or(k.Model, "(not noted)"))}
	case "day":
		return spentRow{Name: k.Day}
	}
	p.meet(k.By)
	return spentRow{Name: p.word(k.Platform + "/" + string(k.By.ID)), platform: k.Platform, user: k.By.ID}
}

// shown is a limit and its rest, with separators.
func shown(a run.Account) (limit, left string) {
	if a.Money > 0 {
		return a.Shown()
	}
	return summary.Thousands(int(a.Tokens)) + " tokens", summary.Thousands(int(max(0, a.Tokens-a.Used))) + " tokens"
}

// limits puts the limits to the rows of today that have one.
func (p *Page) limits(ctx context.Context, v *spent, now time.Time) error {
	if v.To != now.Format(time.DateOnly) {
		return nil
	}
	put := func(row *spentRow, of string) error {
		accounts, err := p.o.Limits.Used(ctx, p.o.Store, now, row.platform, row.user, row.thread)
		for _, a := range accounts {
			if a.Of == of {
				row.Limit, row.Rest = shown(a)
				row.Part = int(100 * min(1, a.Share()))
			}
		}
		return err
	}
	if err := put(&v.Total, "all"); err != nil {
		return err
	}
	for i := range v.Rows {
		if v.By == "person" || v.By == "thread" {
			if err := put(&v.Rows[i], v.By); err != nil {
				return err
			}
		}
	}
	return nil
}
