package main

import (
	"fmt"
	"io"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// wireFromLatest encodes a value of the newest cel-go, what is inside optionals, lists and maps too. A value of an extension
// is its type and its text.
func wireFromLatest(value ref.Val) WireValue {
	switch value := value.(type) {
	case *types.Optional:
		if !value.HasValue() {
			return WireValue{"optional": nil}
		}
		return WireValue{"optional": wireFromLatest(value.GetValue())}
	case traits.Lister:
		list := []WireValue{}
		for each := value.Iterator(); each.HasNext() == types.True; {
			list = append(list, wireFromLatest(each.Next()))
		}
		return WireValue{"list": list}
	case traits.Mapper:
		entries := [][2]WireValue{}
		for each := value.Iterator(); each.HasNext() == types.True; {
			key := each.Next()
			entries = append(entries, [2]WireValue{wireFromLatest(key), wireFromLatest(value.Get(key))})
		}
		return WireValue{"map": entries}
	}
	if encoded, err := cel.ValueAsProto(value); err == nil {
		if result, err := wireFromProto(encoded); err == nil {
			return result
		}
	}
	return wireOpaque(value.Type().TypeName(), fmt.Sprint(value.Value()))
}

// printLatestDeclarations prints the functions of the newest cel-go with its extensions, and then the macros.
func printLatestDeclarations(out io.Writer) error {
	env, err := latestBase()
	if err != nil {
		return err
	}
	declarations := []Declaration{}
	for name, function := range env.Functions() {
		declaration := Declaration{Name: name}
		for _, each := range function.OverloadDecls() {
			overload := Overload{ID: each.ID(), Member: each.IsMemberFunction(), Parameters: []WireType{}, Result: latestTypeInTable(each.ResultType())}
			for _, argument := range each.ArgTypes() {
				overload.Parameters = append(overload.Parameters, latestTypeInTable(argument))
			}
			declaration.Overloads = append(declaration.Overloads, overload)
		}
		declarations = append(declarations, declaration)
	}
	macros := []macroDeclaration{}
	for _, macro := range env.Macros() {
		macros = append(macros, macroDeclaration{macro.Function(), macro.IsReceiverStyle(), macro.ArgCount()})
	}
	return printTable(out, declarations, macros)
}

func latestTypeInTable(of *cel.Type) WireType {
	encoded, err := types.TypeToProto(of)
	if err != nil {
		return simpleType("dyn")
	}
	return wireTypeFromProto(encoded)
}
