// Package liberationserifitalic stands in for the font of that name.
package liberationserifitalic

import "golang.org/x/image/font/gofont/goregular"

// TTF is not that font.
var TTF = goregular.TTF
