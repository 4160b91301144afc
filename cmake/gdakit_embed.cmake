# gdakit_embed(target OUTPUT name.cc HEADER path NAMESPACE a::b
#              CONSTANT files... [CONSTANT files...])
#
# Gives the target a C++ source, made at build time, that defines each constant as the text of its
# files, one after the other. The header declares them as `extern const std::string_view`.
#
#   gdakit_embed(gdakit OUTPUT page_parts.cc HEADER sim/explore/page_parts.h
#                NAMESPACE gdakit::sim::page
#     kHtml   page/page.html
#     kScript page/model.js page/rows.js)
#
# The same file is the script that the build runs.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(gdakit_embed target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT;HEADER;NAMESPACE" "")
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${arg_OUTPUT})
    set(files)
    set(parts)
    foreach(word IN LISTS arg_UNPARSED_ARGUMENTS)
      if(word MATCHES "^k[A-Z][A-Za-z]*$")
        list(APPEND parts ${word})
      else()
        get_filename_component(file ${word} ABSOLUTE)
        list(APPEND files ${file})
        list(APPEND parts ${file})
      endif()
    endforeach()
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -D OUTPUT=${output} -D HEADER=${arg_HEADER}
              -D NAMESPACE=${arg_NAMESPACE} -D "PARTS=${parts}" -P ${script}
      DEPENDS ${files} ${script}
      COMMENT "Embedding ${arg_OUTPUT}"
      VERBATIM)
    # The target may belong to another folder, where a command of this one is not known.
    get_filename_component(name ${arg_OUTPUT} NAME_WE)
    add_custom_target(${target}_${name} DEPENDS ${output})
    add_dependencies(${target} ${target}_${name})
    target_sources(${target} PRIVATE ${output})
  endfunction()
  return()
endif()

set(text "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
set(opened FALSE)
foreach(part IN LISTS PARTS)
  if(part MATCHES "^k[A-Z][A-Za-z]*$")
    if(opened)
      string(APPEND text ";\n")
    endif()
    string(APPEND text "\nextern const std::string_view ${part};\nconst std::string_view ${part} =")
    set(opened TRUE)
  else()
    file(READ ${part} content)
    if(content MATCHES "\\)gdakit_embed\"")
      message(FATAL_ERROR "${part} contains )gdakit_embed\", which would end the C++ literal")
    endif()
    string(APPEND text "\n    R\"gdakit_embed(${content})gdakit_embed\"")
  endif()
endforeach()
string(APPEND text ";\n\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${text}")
