package fakediscord

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Limits of a message: https://discord.com/developers/docs/resources/message
// and https://discord.com/developers/docs/components/reference. The published
// contract has other figures for some of them, or none.
const (
	mostContent      = 2000
	mostEmbeds       = 10
	mostEmbedText    = 6000
	mostFiles        = 10
	mostNonce        = 25
	mostCustomID     = 100
	mostLabel        = 80
	mostPlaceholder  = 150
	mostOptions      = 25
	mostRows         = 5
	mostRow          = 5
	mostComponents   = 40
	mostDisplayed    = 4000 // text of all components of a message
	mostSectionTexts = 3
)

// form collects the mistakes of a body; the first one is the answer.
type form struct {
	bad      *apiError
	ids      map[string]bool
	v2       bool
	count    int
	text     int
	embedded int
}

func (f *form) fail(field, code, message string) {
	if f.bad == nil {
		f.bad = badForm(field, code, message)
	}
}

// length checks a text's length in code points.
func (f *form) length(field, text string, least, most int) {
	switch n := utf8.RuneCountInString(text); {
	case n > most:
		f.fail(field, "BASE_TYPE_MAX_LENGTH", fmt.Sprintf("Must be %d or fewer in length.", most))
	case n < least:
		f.fail(field, "BASE_TYPE_REQUIRED", "This field is required")
	}
}

// check compares a post with Discord's rules.
func (p *post) check() *apiError {
	f := &form{ids: map[string]bool{}, v2: p.Flags&flagComponents != 0}
	f.length("content", p.content(), 0, mostContent)
	f.length("nonce", p.nonce, 0, mostNonce)
	if len(p.files) > mostFiles {
		f.fail("files", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	if f.v2 && (p.content() != "" || len(p.Embeds) > 0) {
		f.fail("content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "Not together with IS_COMPONENTS_V2.")
	}
	if p.Allowed != nil {
		f.allowed(p.Allowed)
	}
	f.embeds(p.Embeds)
	f.components(p.Components)
	return f.bad
}

func (f *form) allowed(a *allowed) {
	for kind, ids := range map[string][]string{"users": a.Users, "roles": a.Roles} {
		if has(a.Parse, kind) && len(ids) > 0 {
			f.fail("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse and "+kind+" exclude each other")
		}
		if len(ids) > 100 {
			f.fail("allowed_mentions."+kind, "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")
		}
	}
	for i, p := range a.Parse {
		if p != "users" && p != "roles" && p != "everyone" {
			f.fail(fmt.Sprintf("allowed_mentions.parse.%d", i), "BASE_TYPE_CHOICES", "Value must be one of {'everyone', 'roles', 'users'}.")
		}
	}
}

func (f *form) embeds(embeds []any) {
	if len(embeds) > mostEmbeds {
		f.fail("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	for i, e := range embeds {
		o, _ := e.(map[string]any)
		at := fmt.Sprintf("embeds.%d.", i)
		f.embedText(at+"title", o["title"], 256)
		f.embedText(at+"description", o["description"], 4096)
		footer, _ := o["footer"].(map[string]any)
		author, _ := o["author"].(map[string]any)
		f.embedText(at+"footer.text", footer["text"], 2048)
		f.embedText(at+"author.name", author["name"], 256)
		fields, _ := o["fields"].([]any)
		if len(fields) > 25 {
			f.fail(at+"fields", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
		}
		for j, field := range fields {
			o, _ := field.(map[string]any)
			f.embedText(fmt.Sprintf("%sfields.%d.name", at, j), o["name"], 256)
			f.embedText(fmt.Sprintf("%sfields.%d.value", at, j), o["value"], 1024)
		}
	}
	if f.embedded > mostEmbedText {
		f.fail("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
	}
}

func (f *form) embedText(field string, v any, most int) {
	text, _ := v.(string)
	f.embedded += utf8.RuneCountInString(text)
	f.length(field, text, 0, most)
}

// components checks the top of the tree; without the V2 flag there are only
// rows.
func (f *form) components(list []any) {
	if !f.v2 && len(list) > mostRows {
		f.fail("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	for i, c := range list {
		at := "components." + strconv.Itoa(i)
		o, _ := c.(map[string]any)
		if kind, _ := o["type"].(float64); !f.v2 && kind != 1 {
			f.fail(at+".type", "UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (1,).")
		}
		f.component(at, o, f.v2)
	}
	if f.count > mostComponents {
		f.fail("components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", "The total number of components exceeds 40.")
	}
	if f.text > mostDisplayed {
		f.fail("components", "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", "The total displayable text size exceeds 4000.")
	}
}

// component checks one component. A container may be at the top only.
func (f *form) component(at string, c map[string]any, top bool) {
	f.count++
	kind, _ := c["type"].(float64)
	inner, _ := c["components"].([]any)
	switch kind {
	case 1:
		f.row(at, inner)
	case 2:
		f.button(at, c)
	case 3, 5, 6, 7, 8:
		f.choice(at, c)
	case 9:
		if accessory, ok := c["accessory"].(map[string]any); !ok {
			f.fail(at+".accessory", "BASE_TYPE_REQUIRED", "This field is required")
		} else {
			f.component(at+".accessory", accessory, false)
		}
		if len(inner) < 1 || len(inner) > mostSectionTexts {
			f.fail(at+".components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 3 in length.")
		}
	case 10:
		text, _ := c["content"].(string)
		f.text += utf8.RuneCountInString(text)
		f.length(at+".content", text, 1, mostDisplayed)
	case 11, 12, 13, 14:
	case 17:
		if !top {
			f.fail(at+".type", "UNION_TYPE_CHOICES", "A container can't be in another component.")
		}
	default:
		f.fail(at+".type", "UNION_TYPE_CHOICES", "Unknown type of component.")
	}
	for i, e := range inner {
		o, _ := e.(map[string]any)
		f.component(fmt.Sprintf("%s.components.%d", at, i), o, false)
	}
}

func (f *form) row(at string, inner []any) {
	if len(inner) < 1 || len(inner) > mostRow {
		f.fail(at+".components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	for i, e := range inner {
		o, _ := e.(map[string]any)
		if kind, _ := o["type"].(float64); kind != 2 && len(inner) > 1 || kind < 2 || kind > 8 {
			f.fail(fmt.Sprintf("%s.components.%d.type", at, i), "UNION_TYPE_CHOICES", "A row holds up to five buttons, or one menu.")
		}
	}
}

func (f *form) button(at string, c map[string]any) {
	style, _ := c["style"].(float64)
	label, _ := c["label"].(string)
	f.length(at+".label", label, 0, mostLabel)
	if label == "" && c["emoji"] == nil && style != 6 {
		f.fail(at+".label", "BUTTON_COMPONENT_LABEL_OR_EMOJI_REQUIRED", "A button must have a label or emoji")
	}
	link, _ := c["url"].(string)
	switch {
	case style < 1 || style > 6:
		f.fail(at+".style", "BASE_TYPE_CHOICES", "Unknown style.")
	case style == 5:
		f.length(at+".url", link, 1, 512)
		if c["custom_id"] != nil {
			f.fail(at+".custom_id", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified")
		}
	case style < 5:
		f.customID(at, c)
	}
}

func (f *form) customID(at string, c map[string]any) {
	id, _ := c["custom_id"].(string)
	f.length(at+".custom_id", id, 1, mostCustomID)
	if f.ids[id] {
		f.fail(at+".custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
	}
	f.ids[id] = true
}

func (f *form) choice(at string, c map[string]any) {
	f.customID(at, c)
	placeholder, _ := c["placeholder"].(string)
	f.length(at+".placeholder", placeholder, 0, mostPlaceholder)
	options, _ := c["options"].([]any)
	if kind, _ := c["type"].(float64); kind == 3 && (len(options) < 1 || len(options) > mostOptions) {
		f.fail(at+".options", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.")
	}
	for i, e := range options {
		o, _ := e.(map[string]any)
		for _, key := range []string{"label", "value"} {
			text, _ := o[key].(string)
			f.length(fmt.Sprintf("%s.options.%d.%s", at, i, key), text, 1, 100)
		}
	}
}
