# Writes the manual page of the command from what the command says of itself:
#
#   cmake -D program=GDAKIT -D page=FILE -P man_page.cmake
#
# Each command's --help is a section, with its lines as they are.

# help_of(VARIABLE WORD...): what the program prints for `WORD... --help`, as roff.
function(help_of variable)
  execute_process(COMMAND ${program} ${ARGN} --help OUTPUT_VARIABLE text
                  COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${text}" text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${variable} ".nf\n${text}\n.fi\n" PARENT_SCOPE)
endfunction()

execute_process(COMMAND ${program} --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
string(STRIP "${version}" version)
help_of(overview)
string(REGEX MATCH "^\\.nf\ngdakit: ([^\n]+)" sentence "${overview}")
set(sentence "${CMAKE_MATCH_1}")

set(text ".TH GDAKIT 1 \"\" \"${version}\" \"User Commands\"\n")
string(APPEND text ".SH NAME\ngdakit \\- ${sentence}\n.SH DESCRIPTION\n${overview}")
foreach(command run check top timeline info explore mutants litmus)
  string(TOUPPER ${command} title)
  help_of(help ${command})
  string(APPEND text ".SH GDAKIT ${title}\n${help}")
endforeach()
string(APPEND text ".SH ENVIRONMENT\n\\fBgdakit info\\fR lists every variable, what it may be, "
                   "and its value.\n")
file(WRITE ${page} "${text}")
