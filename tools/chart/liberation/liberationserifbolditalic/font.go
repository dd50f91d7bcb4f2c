// Package liberationserifbolditalic stands in for the font of that name.
package liberationserifbolditalic

import "golang.org/x/image/font/gofont/goregular"

// TTF is not that font.
var TTF = goregular.TTF
