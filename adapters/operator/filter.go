package operator

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"nod/chat"
)

// filter is what a list shows; it stands in the address. An empty part lets all through.
type filter struct{ Person, Tool, State, Platform string }

func filterOf(r *http.Request) filter {
	q := r.URL.Query()
	return filter{q.Get("person"), q.Get("tool"), q.Get("state"), q.Get("platform")}
}

// Any says whether the filter leaves something out.
func (f filter) Any() bool { return f != filter{} }

// lets says whether a row may be shown. A person and a tool may be written in part.
func (f filter) lets(platform, tool, state string, people ...chat.User) bool {
	holds := func(name, part string) bool {
		return strings.Contains(strings.ToLower(name), strings.ToLower(part))
	}
	return (f.Platform == "" || f.Platform == platform) && (f.State == "" || f.State == state) && holds(tool, f.Tool) &&
		(f.Person == "" || slices.ContainsFunc(people, func(u chat.User) bool { return holds(string(u.ID), f.Person) || holds(u.Name, f.Person) }))
}

// platforms are those that a filter leaves.
func (p *Page) platforms(f filter) []string {
	if f.Platform == "" {
		return p.o.Platforms
	}
	return slices.DeleteFunc(slices.Clone(p.o.Platforms), func(name string) bool { return name != f.Platform })
}

// states are what a filter can ask for, by view. A view that is not here has no filter.
var states = map[string][]string{
	"waiting": {stateNone, stateSome},
	"decided": {string(chat.Approved), string(chat.Denied), string(chat.Expired), string(chat.Cancelled), "granted", "used", "revoked"},
	"live":    {stateWorks, stateWaits},
}

const (
	stateNone  = "nobody yet"
	stateSome  = "some approved"
	stateWorks = "at work"
	stateWaits = "waits for people"
)

// pages are the addresses of what follows a page of a list, and of what comes before.
type pages struct{ Next, Prev string }

// pagesOf gives those of a page of what a request asks for; more says that something follows.
func pagesOf(r *http.Request, page int, more bool) (p pages) {
	if more {
		p.Next = address(r, "page", strconv.Itoa(page+1))
	}
	if page > 0 {
		p.Prev = address(r, "page", strconv.Itoa(page-1))
	}
	return p
}

// pageOf gives a page of a list.
func pageOf[T any](r *http.Request, page int, all []T) ([]T, pages) {
	from := min(page*pageSize, len(all))
	to := min(from+pageSize, len(all))
	return all[from:to], pagesOf(r, page, to < len(all))
}

// address is what a request asks for with other parameters, which come in pairs.
func address(r *http.Request, pairs ...string) string {
	q := r.URL.Query()
	q.Del("part")
	q.Del("check")
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return r.URL.Path + "?" + q.Encode()
}
