package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits of blocks (https://docs.slack.dev/reference/block-kit/blocks).
const (
	maxBlocks     = 50  // of a message
	maxViewBlocks = 100 // of a view
	maxID         = 255
	maxSection    = 3000
	maxField      = 2000
	maxFields     = 10
	maxHeader     = 150
	maxContext    = 10
	maxActions    = 25
	maxRowIcons   = 5 // elements of context_actions
	maxChildren   = 10
	maxTasks      = 50
	maxAltText    = 2000
	maxURL        = 3000
	maxRows       = 100
	maxColumns    = 20

	// Slack does not publish the limit for all blocks of a message. Measured: 13,297
	// characters in one markdown block, 13,172 beside a divider. A message of many
	// blocks was refused at 11,341. So a block costs something.
	maxMessage = 13_300
	blockCost  = 125
)

// surface is where blocks are shown.
type surface string

const (
	inMessage surface = "message"
	inModal   surface = "modal"
	inHome    surface = "home"
)

// obj is a JSON object that is judged.
type obj map[string]any

func (o obj) str(key string) string {
	s, _ := o[key].(string)
	return s
}

func (o obj) truth(key string) bool {
	b, _ := o[key].(bool)
	return b
}

func (o obj) child(key string) (obj, bool) {
	c, ok := o[key].(map[string]any)
	return c, ok
}

func (o obj) list(key string) []any {
	l, _ := o[key].([]any)
	return l
}

// judge goes through blocks and notes what is wrong.
type judge struct {
	where    surface
	ids      map[string]bool
	actions  map[string]bool // of the block at hand
	markdown int
	tables   int
	problems []string
}

// checkBlocks gives invalid_blocks unless Slack would take the blocks.
func checkBlocks(raw json.RawMessage, where surface) error {
	if len(raw) == 0 {
		return nil
	}
	var blocks []any
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return breach("invalid_blocks_format", "%v", err)
	}
	j := &judge{where: where, ids: map[string]bool{}}
	most := maxBlocks
	if where != inMessage {
		most = maxViewBlocks
	}
	j.expect(len(blocks) <= most, "/blocks", "%d blocks, %d are allowed", len(blocks), most)
	top := map[string]bool{}
	for i, b := range blocks {
		at := fmt.Sprintf("/blocks/%d", i)
		top[j.block(at, b, "")] = true
	}
	j.expect(!top["plan"] || !top["task_card"], "/blocks", "plan and task_card together")
	j.expect(j.markdown <= maxMarkdown, "/blocks", "markdown has %d characters in all, %d are allowed", j.markdown, maxMarkdown)
	j.expect(j.tables <= 1, "/blocks", "more than one table")
	if len(j.problems) == 0 {
		if n := weight(blocks); where == inMessage && n > maxMessage {
			return &apiError{code: "msg_blocks_too_long", detail: fmt.Sprintf("the blocks weigh %d", n)}
		}
		return nil
	}
	return &apiError{
		code: "invalid_blocks", breach: true, detail: fmt.Sprint(j.problems),
		extra: reply{"errors": j.problems},
	}
}

// weight is the text of blocks, and what they cost themselves.
func weight(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case map[string]any:
		if _, known := kinds[obj(v).str("type")]; known {
			n += blockCost
		}
		for key, e := range v {
			if s, ok := e.(string); ok {
				if key == "text" {
					n += utf8.RuneCountInString(s)
				}
				continue
			}
			n += weight(e)
		}
	}
	return n
}

func (j *judge) expect(ok bool, at, format string, args ...any) {
	if !ok {
		j.problems = append(j.problems, fmt.Sprintf(format, args...)+" ["+at+"]")
	}
}

// kind is how a block is judged, and which fields it may have. One unknown
// field makes Slack refuse the whole message.
type kind struct {
	check  func(*judge, string, obj)
	fields []string // besides type and block_id; nil: not judged
}

var kinds map[string]kind

func init() { // kinds and containers need each other
	is := func(check func(*judge, string, obj), fields ...string) kind {
		return kind{check, append([]string{}, fields...)}
	}
	unjudged := kind{check: anything}
	kinds = map[string]kind{
		"section": is((*judge).section, "text", "fields", "accessory", "expand"),
		"header":  is((*judge).header, "text", "level"),
		"divider": is(anything),
		"image":   is((*judge).image, "image_url", "slack_file", "alt_text", "title"),
		"context": is((*judge).context, "elements"),
		"actions": is((*judge).actionBlock, "elements"),

		"context_actions": is((*judge).rowOfIcons, "elements"),
		"markdown":        is((*judge).markdownBlock, "text"),
		"rich_text":       is((*judge).richText, "elements"),
		"container": is((*judge).container, "title", "rich_text_title", "subtitle", "icon", "width", "is_collapsible",
			"default_collapsed", "has_header_divider", "child_blocks"),
		"layout":    is((*judge).layout, "label", "rows", "is_label_visible", "grid_lines", "fallback"),
		"plan":      is((*judge).plan, "title", "tasks"),
		"task_card": is((*judge).task, "task_id", "title", "status", "details", "output", "sources", "hide_title", "icon"),
		"table":     is((*judge).table, "rows", "column_settings"),
		"input":     is((*judge).input, "label", "element", "hint", "optional", "dispatch_action"),

		"video": {check: (*judge).video}, "file": {check: (*judge).fileBlock}, "alert": {check: (*judge).alert},
		"contact_card": unjudged, "callout": unjudged, "canvas_table": unjudged, "data_table": unjudged,
		"card": unjudged, "carousel": unjudged, "call": unjudged,
	}
}

// only notes the fields of an object that Slack does not know.
func (j *judge) only(at string, o obj, fields ...string) {
	for name := range o {
		j.expect(slices.Contains(fields, name), at, "unknown field %q", name)
	}
}

// anything takes a block whose inside is not judged.
func anything(*judge, string, obj) {}

// inContainer are the blocks that a container takes. The documentation lists
// some more, which the live validator was seen to refuse.
var inContainer = []string{
	"divider", "image", "section", "contact_card", "callout", "canvas_table", "actions", "video", "header", "context",
	"table", "layout",
}

// block judges one block and gives its type. parent is the type of the block
// around it.
func (j *judge) block(at string, v any, parent string) string {
	m, ok := v.(map[string]any)
	if !ok {
		j.expect(false, at, "not an object")
		return ""
	}
	b := obj(m)
	kind := b.str("type")
	k, known := kinds[kind]
	switch {
	case !known:
		j.expect(false, at, "unsupported type: %q", kind)
		return kind
	case parent == "container":
		j.expect(slices.Contains(inContainer, kind), at, "a container takes no %s", kind)
	case parent == "layout":
		j.expect(kind != "layout" && kind != "container", at, "a layout takes no %s", kind)
	}
	if id, ok := b["block_id"]; ok {
		name, isText := id.(string)
		n := utf8.RuneCountInString(name)
		j.expect(isText && n > 0 && n <= maxID, at, "block_id has %d characters, 1 to %d are allowed", n, maxID)
		j.expect(!j.ids[name], at, "block_id %q occurs twice", name)
		j.ids[name] = true
	}
	if k.fields != nil {
		j.only(at, b, append([]string{"type", "block_id"}, k.fields...)...)
	}
	j.actions = map[string]bool{}
	k.check(j, at, b)
	return kind
}

// text judges a text object of up to most characters.
func (j *judge) text(at string, v any, most int, plainOnly bool) {
	m, ok := v.(map[string]any)
	if !ok {
		j.expect(false, at, "no text object")
		return
	}
	t := obj(m)
	kind := t.str("type")
	j.expect(kind == "plain_text" || kind == "mrkdwn" && !plainOnly, at, "text of type %q", kind)
	n := utf8.RuneCountInString(t.str("text"))
	j.expect(n >= 1 && n <= most, at, "text has %d characters, 1 to %d are allowed", n, most)
	j.only(at, t, "type", "text", "emoji", "verbatim")
	_, emoji := t["emoji"]
	j.expect(!emoji || kind == "plain_text", at, "emoji goes with plain_text only")
	_, verbatim := t["verbatim"]
	j.expect(!verbatim || kind == "mrkdwn", at, "verbatim goes with mrkdwn only")
}

func (j *judge) section(at string, b obj) {
	_, hasText := b["text"]
	fields := b.list("fields")
	j.expect(hasText || len(fields) > 0, at, "neither text nor fields")
	if hasText {
		j.text(at+"/text", b["text"], maxSection, false)
	}
	j.expect(len(fields) <= maxFields, at, "%d fields, %d are allowed", len(fields), maxFields)
	for i, f := range fields {
		j.text(fmt.Sprintf("%s/fields/%d", at, i), f, maxField, false)
	}
	if accessory, ok := b["accessory"]; ok {
		j.element(at+"/accessory", accessory)
	}
}

func (j *judge) header(at string, b obj) { j.text(at+"/text", b["text"], maxHeader, true) }

func (j *judge) image(at string, b obj) {
	_, slackFile := b.child("slack_file")
	n := utf8.RuneCountInString(b.str("image_url"))
	j.expect(slackFile || n >= 1 && n <= maxURL, at, "image_url has %d characters", n)
	n = utf8.RuneCountInString(b.str("alt_text"))
	j.expect(n >= 1 && n <= maxAltText, at, "alt_text has %d characters", n)
	if title, ok := b["title"]; ok {
		j.text(at+"/title", title, maxAltText, true)
	}
}

func (j *judge) context(at string, b obj) {
	elements := b.list("elements")
	j.expect(len(elements) >= 1 && len(elements) <= maxContext, at, "%d elements, 1 to %d are allowed", len(elements), maxContext)
	for i, e := range elements {
		here := fmt.Sprintf("%s/elements/%d", at, i)
		if m, ok := e.(map[string]any); ok && m["type"] == "image" {
			j.image(here, m)
			continue
		}
		j.text(here, e, maxSection, false)
	}
}

func (j *judge) actionBlock(at string, b obj) { j.elements(at, b, maxActions) }

func (j *judge) rowOfIcons(at string, b obj) {
	j.elements(at, b, maxRowIcons)
	for i, e := range b.list("elements") {
		m, _ := e.(map[string]any)
		kind := obj(m).str("type")
		j.expect(kind == "feedback_buttons" || kind == "icon_button", fmt.Sprintf("%s/elements/%d", at, i), "unsupported type: %q", kind)
	}
}

func (j *judge) elements(at string, b obj, most int) {
	elements := b.list("elements")
	j.expect(len(elements) >= 1 && len(elements) <= most, at, "%d elements, 1 to %d are allowed", len(elements), most)
	for i, e := range elements {
		j.element(fmt.Sprintf("%s/elements/%d", at, i), e)
	}
}

func (j *judge) markdownBlock(at string, b obj) {
	n := utf8.RuneCountInString(b.str("text"))
	j.expect(n >= 1, at, "no text")
	j.expect(j.where == inMessage, at, "markdown goes in messages only")
	j.markdown += n
}

func (j *judge) container(at string, b obj) {
	j.expect(j.where == inMessage, at, "container goes in messages only")
	title, hasTitle := b["title"]
	rich, hasRich := b["rich_text_title"]
	j.expect(hasTitle || hasRich, at, "no title")
	if hasTitle {
		j.text(at+"/title", title, maxHeader, true)
	}
	if hasRich {
		j.block(at+"/rich_text_title", rich, "")
	}
	if subtitle, ok := b["subtitle"]; ok {
		j.text(at+"/subtitle", subtitle, maxHeader, false)
	}
	j.expect(!b.truth("has_header_divider") || !b.truth("is_collapsible"), at, "has_header_divider together with is_collapsible")
	j.expect(!b.truth("default_collapsed") || b.truth("is_collapsible"), at, "default_collapsed without is_collapsible")
	if width, ok := b["width"]; ok {
		j.expect(slices.Contains([]any{"narrow", "standard", "wide", "full"}, width), at, "width %v", width)
	}
	children := b.list("child_blocks")
	j.expect(len(children) >= 1 && len(children) <= maxChildren, at, "%d child_blocks, 1 to %d are allowed", len(children), maxChildren)
	for i, c := range children {
		j.block(fmt.Sprintf("%s/child_blocks/%d", at, i), c, "container")
	}
}

func (j *judge) layout(at string, b obj) {
	for i, r := range b.list("rows") {
		row, _ := r.(map[string]any)
		for k, it := range obj(row).list("items") {
			item, _ := it.(map[string]any)
			j.block(fmt.Sprintf("%s/rows/%d/items/%d/block", at, i, k), item["block"], "layout")
		}
	}
}
